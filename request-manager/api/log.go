package api

import (
	"context"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/treadle-run/treadle/internal/httpjson"
	"github.com/treadle-run/treadle/proto"
)

// Logs says what the jobs of requests did and do.
type Logs interface {
	Log(ctx context.Context, id string) ([]proto.JobLog, error)
	LastLog(ctx context.Context, id, jobID string) (proto.JobLog, error)
	Running(ctx context.Context, requestID, orderBy string) (proto.RunningStatus, error)
}

func (s *server) getLog(c echo.Context) error {
	id, err := httpjson.RequestID(c)
	if err != nil {
		return err
	}
	entries, err := s.logs.Log(c.Request().Context(), id)
	if err != nil {
		return err
	}
	if entries == nil {
		entries = []proto.JobLog{}
	}
	return httpjson.JSON(c, http.StatusOK, entries)
}

func (s *server) getLastLog(c echo.Context) error {
	id, err := httpjson.RequestID(c)
	if err != nil {
		return err
	}
	jobID := c.Param("jobID")
	if jobID == "" || len(jobID) > maxJobID || strings.Contains(jobID, "/") {
		return proto.Errorf(proto.CodeNotFound, "no job with that id")
	}
	entry, err := s.logs.LastLog(c.Request().Context(), id, jobID)
	if err != nil {
		return err
	}
	return httpjson.JSON(c, http.StatusOK, entry)
}

// getRunning says what runs now, of all requests or of one.
func (s *server) getRunning(c echo.Context) error {
	id, orderBy := c.QueryParam("requestId"), c.QueryParam("orderBy")
	if id != "" && !httpjson.ValidRequestID(id) {
		return httpjson.ErrNoRequest
	}
	switch {
	case strings.EqualFold(orderBy, "startTime"):
		orderBy = "startTime"
	case orderBy != "":
		return proto.Errorf(proto.CodeInvalid, "orderBy: expected startTime, got %q", orderBy)
	}
	running, err := s.logs.Running(c.Request().Context(), id, orderBy)
	if err != nil {
		return err
	}
	if running.Jobs == nil {
		running.Jobs = []proto.JobStatus{}
	}
	requests := make(map[string]proto.Request, len(running.Requests))
	for id, r := range running.Requests {
		r.JobChain = nil
		requests[id] = r
	}
	running.Requests = requests
	return httpjson.JSON(c, http.StatusOK, running)
}
