package api

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/treadle-run/treadle/internal/httpjson"
	"github.com/treadle-run/treadle/proto"
)

// Runners knows the Job Runners.
type Runners interface {
	Heartbeat(ctx context.Context, r proto.Runner) (proto.HeartbeatAnswer, error)
	Runners(ctx context.Context) ([]proto.Runner, error)
	Drain(ctx context.Context, runner string, drain bool) error
	// Ready says whether requests can be accepted, and why not.
	Ready(ctx context.Context) error
}

func (s *server) heartbeat(c echo.Context) error {
	var r proto.Runner
	if err := httpjson.Decode(c, &r, s.cfg.RunnerBodyLimit); err != nil {
		return err
	}
	if err := r.Check(); err != nil {
		return proto.Errorf(proto.CodeInvalid, "%v", err)
	}
	answer, err := s.runners.Heartbeat(c.Request().Context(), r)
	if err != nil {
		return err
	}
	return httpjson.JSON(c, http.StatusOK, answer)
}

func (s *server) listRunners(c echo.Context) error {
	runners, err := s.runners.Runners(c.Request().Context())
	if err != nil {
		return err
	}
	list := make([]proto.Runner, len(runners))
	for i, r := range runners {
		if r.Running == nil {
			r.Running = []proto.RunningChain{}
		}
		list[i] = r
	}
	return httpjson.JSON(c, http.StatusOK, list)
}

func (s *server) drainRunner(c echo.Context) error {
	on, err := strconv.ParseBool(c.QueryParam("on"))
	if err != nil {
		return proto.Errorf(proto.CodeInvalid, "on: expected true or false, got %q", c.QueryParam("on"))
	}
	runner, err := url.PathUnescape(c.Param("runner"))
	if err != nil || runner == "" {
		return proto.Errorf(proto.CodeNotFound, "no runner with that id")
	}
	if err := s.runners.Drain(c.Request().Context(), runner, on); err != nil {
		return err
	}
	return httpjson.Empty(c)
}

// ready answers 200 when the service can do its work.
func (s *server) ready(c echo.Context) error {
	if err := s.runners.Ready(c.Request().Context()); err != nil {
		return err
	}
	return httpjson.JSON(c, http.StatusOK, map[string]string{"status": "ready"})
}
