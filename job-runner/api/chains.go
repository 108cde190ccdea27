package api

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/treadle-run/treadle/internal/httpjson"
	"github.com/treadle-run/treadle/proto"
)

func (s *server) startChain(c echo.Context) error {
	h, err := handOver(c)
	if err != nil {
		return err
	}
	var jc proto.JobChain
	if err := httpjson.Decode(c, &jc, s.cfg.BodyLimit); err != nil {
		return err
	}
	if err := httpjson.CheckChain(&jc); err != nil {
		return err
	}
	if err := s.runner.Start(c.Request().Context(), h, &jc); err != nil {
		return err
	}
	return s.accepted(c, jc.RequestID)
}

// handOver reads whom the chain is for, and under what.
func handOver(c echo.Context) (proto.HandOver, error) {
	epoch, err := httpjson.Epoch(c)
	return proto.HandOver{RunnerID: c.Request().Header.Get(proto.RunnerHeader), Epoch: epoch}, err
}

func (s *server) resumeChain(c echo.Context) error {
	h, err := handOver(c)
	if err != nil {
		return err
	}
	var sjc proto.SuspendedJobChain
	if err := httpjson.Decode(c, &sjc, s.cfg.BodyLimit); err != nil {
		return err
	}
	if err := httpjson.CheckSuspended(&sjc); err != nil {
		return err
	}
	if err := s.runner.Resume(c.Request().Context(), h, &sjc); err != nil {
		return err
	}
	return s.accepted(c, sjc.RequestID)
}

// accepted answers 200 and says at which runner the chain now is.
func (s *server) accepted(c echo.Context, requestID string) error {
	base := strings.TrimRight(s.cfg.BaseURL, "/")
	if base == "" {
		base = c.Scheme() + "://" + c.Request().Host
	}
	c.Response().Header().Set(echo.HeaderLocation, base+"/api/v1/job-chains/"+requestID)
	return httpjson.Empty(c)
}

func (s *server) stopChain(c echo.Context) error {
	id, err := httpjson.RequestID(c)
	if err != nil {
		return err
	}
	if err := s.runner.Stop(c.Request().Context(), id); err != nil {
		return err
	}
	return httpjson.Empty(c)
}

func (s *server) getRunning(c echo.Context) error {
	running := s.runner.Running()
	if running == nil {
		running = []proto.JobStatus{}
	}
	return httpjson.JSON(c, http.StatusOK, running)
}

// ready answers 200 when the runner takes chains.
func (s *server) ready(c echo.Context) error {
	if err := s.runner.Ready(c.Request().Context()); err != nil {
		return err
	}
	return httpjson.JSON(c, http.StatusOK, map[string]string{"status": "ready"})
}

// identify says who the runner is: a Request Manager that is told of a runner at this
// address asks.
func (s *server) identify(c echo.Context) error {
	return httpjson.JSON(c, http.StatusOK, proto.RunnerIdentity{ID: s.runner.ID()})
}
