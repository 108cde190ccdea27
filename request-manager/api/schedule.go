package api

import (
	"net/url"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/treadle-run/treadle/internal/httpjson"
	"github.com/treadle-run/treadle/proto"
)

func (s *server) getBlocked(c echo.Context) error {
	q, err := parseQuery(c, "app", "limit")
	if err != nil {
		return err
	}
	limit, err := parseCount(q, "limit")
	if err != nil {
		return err
	}
	blocked, err := s.scheduler.Blocked(c.Request().Context(), q.Get("app"), int(limit))
	return answerList(c, blocked, err)
}

func (s *server) findInstances(c echo.Context) error {
	f, err := parseInstanceFilter(c)
	if err != nil {
		return err
	}
	found, err := s.scheduler.Instances(c.Request().Context(), f)
	return answerList(c, found, err)
}

// parseInstanceFilter reads the query of a list of instances.
func parseInstanceFilter(c echo.Context) (proto.InstanceFilter, error) {
	var f proto.InstanceFilter
	q, err := parseQuery(c, "app", "host", "state*", "since", "until", "limit", "offset")
	if err != nil {
		return f, err
	}
	f.App, f.Host = q.Get("app"), q.Get("host")
	if f.States, err = parseInstanceStates(q["state"]); err != nil {
		return f, err
	}
	if f.Since, err = parseTime(q, "since"); err != nil {
		return f, err
	}
	if f.Until, err = parseTime(q, "until"); err != nil {
		return f, err
	}
	if f.Limit, err = parseCount(q, "limit"); err != nil {
		return f, err
	}
	if f.Offset, err = parseCount(q, "offset"); err != nil {
		return f, err
	}
	if q.Get("offset") != "" && f.Limit == 0 {
		return f, proto.Errorf(proto.CodeInvalid, "offset: needs a limit")
	}
	return f, nil
}

func parseInstanceStates(names []string) ([]proto.InstanceState, error) {
	var states []proto.InstanceState
	for _, name := range names {
		if name == "" {
			continue
		}
		var s proto.InstanceState
		if err := s.UnmarshalJSON([]byte(strconv.Quote(name))); err != nil {
			return nil, proto.Errorf(proto.CodeInvalid, "state: expected QUEUED, RUNNING, TO_UNDO, UNDOING, SUCCEEDED or FAILED, got %q", name)
		}
		if !slices.Contains(states, s) {
			states = append(states, s)
		}
	}
	return states, nil
}

func (s *server) getHostInstances(c echo.Context) error {
	if _, err := parseQuery(c); err != nil {
		return err
	}
	host, err := url.PathUnescape(c.Param("host"))
	if err != nil || host == "" {
		return proto.Errorf(proto.CodeInvalid, "host: malformed in the path")
	}
	found, err := s.scheduler.HostInstances(c.Request().Context(), host)
	return answerList(c, found, err)
}

func (s *server) listMembers(c echo.Context) error {
	members, err := s.scheduler.Members(c.Request().Context())
	return answerList(c, members, err)
}

// maxShards is into how many shards the apps can be cut at most.
const maxShards = 1024

func (s *server) setShards(c echo.Context) error {
	var body struct {
		Shards *int `json:"shards"`
	}
	if err := httpjson.DecodeStrict(c, &body, s.cfg.BodyLimit); err != nil {
		return err
	}
	if body.Shards == nil || *body.Shards < 1 || *body.Shards > maxShards {
		return proto.Errorf(proto.CodeInvalid, "shards: expected a whole number from 1 to %d", maxShards)
	}
	if err := s.scheduler.SetShards(c.Request().Context(), *body.Shards); err != nil {
		return err
	}
	return httpjson.Empty(c)
}
