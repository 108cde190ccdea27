package api

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/treadle-run/treadle/internal/httpjson"
	"github.com/treadle-run/treadle/proto"
)

// about decodes a report about one request into dst, whose request id is read
// through idOf, and returns the epoch it was made under.
func (s *server) about(c echo.Context, dst any, idOf func() string) (uint64, error) {
	id, err := httpjson.RequestID(c)
	if err != nil {
		return 0, err
	}
	epoch, err := httpjson.Epoch(c)
	if err != nil {
		return 0, err
	}
	if err := httpjson.Decode(c, dst, s.cfg.RunnerBodyLimit); err != nil {
		return 0, err
	}
	if idOf() != id {
		return 0, proto.Errorf(proto.CodeInvalid, "requestId: expected %q as in the path, got %q", id, idOf())
	}
	return epoch, nil
}

func (s *server) finishRequest(c echo.Context) error {
	var f proto.Finish
	epoch, err := s.about(c, &f, func() string { return f.RequestID })
	if err != nil {
		return err
	}
	if err := s.manager.Finish(c.Request().Context(), epoch, f); err != nil {
		return err
	}
	return httpjson.Empty(c)
}

func (s *server) suspendRequest(c echo.Context) error {
	var sjc proto.SuspendedJobChain
	epoch, err := s.about(c, &sjc, func() string { return sjc.RequestID })
	if err != nil {
		return err
	}
	if err := httpjson.CheckSuspended(&sjc); err != nil {
		return err
	}
	if err := s.manager.SuspendReport(c.Request().Context(), epoch, &sjc); err != nil {
		return err
	}
	return httpjson.Empty(c)
}

func (s *server) setProgress(c echo.Context) error {
	var p proto.Progress
	epoch, err := s.about(c, &p, func() string { return p.RequestID })
	if err != nil {
		return err
	}
	if err := s.manager.Progress(c.Request().Context(), epoch, p); err != nil {
		return err
	}
	return httpjson.Empty(c)
}

func (s *server) addLog(c echo.Context) error {
	var e proto.JobLog
	epoch, err := s.about(c, &e, func() string { return e.RequestID })
	if err != nil {
		return err
	}
	if err := s.manager.AddLog(c.Request().Context(), epoch, e); err != nil {
		return err
	}
	return httpjson.JSON(c, http.StatusCreated, e)
}

// report takes a batch. Each of its items carries an epoch of its own.
func (s *server) report(c echo.Context) error {
	var r proto.Report
	if err := httpjson.Decode(c, &r, s.cfg.RunnerBodyLimit); err != nil {
		return err
	}
	for i := range r.Items {
		sjc := r.Items[i].Suspended
		if sjc == nil {
			continue
		}
		if err := httpjson.CheckSuspended(sjc); err != nil {
			return err
		}
	}
	answer, err := s.manager.Report(c.Request().Context(), r)
	if err != nil {
		return err
	}
	return httpjson.JSON(c, http.StatusOK, answer)
}

func (s *server) heartbeat(c echo.Context) error {
	var r proto.Runner
	if err := httpjson.Decode(c, &r, s.cfg.RunnerBodyLimit); err != nil {
		return err
	}
	if r.ID == "" || r.URL == "" {
		return proto.Errorf(proto.CodeInvalid, "id and url: a runner needs both")
	}
	if u, err := url.Parse(r.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return proto.Errorf(proto.CodeInvalid, "url: expected one such as http://host:32307, got %q", r.URL)
	}
	answer, err := s.manager.Heartbeat(c.Request().Context(), r)
	if err != nil {
		return err
	}
	return httpjson.JSON(c, http.StatusOK, answer)
}

func (s *server) listRunners(c echo.Context) error {
	runners, err := s.manager.Runners(c.Request().Context())
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
	if err := s.manager.Drain(c.Request().Context(), runner, on); err != nil {
		return err
	}
	return httpjson.Empty(c)
}

// ready answers 200 when the service can do its work.
func (s *server) ready(c echo.Context) error {
	if err := s.manager.Ready(c.Request().Context()); err != nil {
		return err
	}
	return httpjson.JSON(c, http.StatusOK, map[string]string{"status": "ready"})
}
