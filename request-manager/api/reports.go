package api

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/treadle-run/treadle/internal/httpjson"
	"github.com/treadle-run/treadle/proto"
)

// Reports stores what runners report.
type Reports interface {
	Report(ctx context.Context, r proto.Report) (proto.ReportAnswer, error)
	// The others are the reports of v1, on one request each.
	Finish(ctx context.Context, epoch uint64, f proto.Finish) error
	SuspendReport(ctx context.Context, epoch uint64, sjc *proto.SuspendedJobChain) error
	Progress(ctx context.Context, epoch uint64, p proto.Progress) error
	AddLog(ctx context.Context, epoch uint64, e proto.JobLog) error
}

// withRequestID decodes a report on the request of the path into dst, whose own
// request id idOf reads, and returns the epoch that it was made under.
func (s *server) withRequestID(c echo.Context, dst any, idOf func() string) (uint64, error) {
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
	epoch, err := s.withRequestID(c, &f, func() string { return f.RequestID })
	if err != nil {
		return err
	}
	if err := s.reports.Finish(c.Request().Context(), epoch, f); err != nil {
		return err
	}
	return httpjson.Empty(c)
}

func (s *server) suspendRequest(c echo.Context) error {
	var sjc proto.SuspendedJobChain
	epoch, err := s.withRequestID(c, &sjc, func() string { return sjc.RequestID })
	if err != nil {
		return err
	}
	if err := httpjson.CheckSuspended(&sjc); err != nil {
		return err
	}
	if err := s.reports.SuspendReport(c.Request().Context(), epoch, &sjc); err != nil {
		return err
	}
	return httpjson.Empty(c)
}

func (s *server) setProgress(c echo.Context) error {
	var p proto.Progress
	epoch, err := s.withRequestID(c, &p, func() string { return p.RequestID })
	if err != nil {
		return err
	}
	if err := s.reports.Progress(c.Request().Context(), epoch, p); err != nil {
		return err
	}
	return httpjson.Empty(c)
}

func (s *server) addLog(c echo.Context) error {
	var e proto.JobLog
	epoch, err := s.withRequestID(c, &e, func() string { return e.RequestID })
	if err != nil {
		return err
	}
	if err := s.reports.AddLog(c.Request().Context(), epoch, e); err != nil {
		return err
	}
	return httpjson.JSON(c, http.StatusCreated, e)
}

// report stores a batch. Each of its items carries an epoch of its own.
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
	answer, err := s.reports.Report(c.Request().Context(), r)
	if err != nil {
		return err
	}
	return httpjson.JSON(c, http.StatusOK, answer)
}
