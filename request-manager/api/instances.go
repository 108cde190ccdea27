package api

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/treadle-run/treadle/internal/httpjson"
	"github.com/treadle-run/treadle/proto"
)

// Instances is what users do with instances of apps.
type Instances interface {
	Instances(ctx context.Context, f proto.InstanceFilter) ([]proto.Instance, error)
	HostInstances(ctx context.Context, host string) ([]proto.HostInstance, error)
	RunPeriods(ctx context.Context, name string, r proto.RunPeriods) (proto.RunPeriodsAnswer, error)
	// UndoInstance has an undo that keeps failing tried now, or no longer tried, for a
	// user.
	UndoInstance(ctx context.Context, app string, u proto.UndoInstance, user string) error
}

func (s *server) findInstances(c echo.Context) error {
	f, err := parseInstanceFilter(c)
	if err != nil {
		return err
	}
	found, err := s.instances.Instances(c.Request().Context(), f)
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
	found, err := s.instances.HostInstances(c.Request().Context(), host)
	return answerList(c, found, err)
}

// runApp makes instances of one period, or of a range of them. That one period cannot
// run is an error; of a range the answer says it of each.
func (s *server) runApp(c echo.Context) error {
	name, err := appName(c)
	if err != nil {
		return err
	}
	var r proto.RunPeriods
	if err := httpjson.DecodeStrict(c, &r, s.cfg.BodyLimit); err != nil {
		return err
	}
	switch {
	case r.Period != "" && (r.From != "" || r.To != ""):
		return proto.Errorf(proto.CodeInvalid, "period: stands alone, without from and to")
	case r.Period == "" && r.From == "":
		return proto.Errorf(proto.CodeInvalid, "period: is missing: the time or the name of the period to run, or from and to")
	case r.Period == "" && r.To == "":
		return proto.Errorf(proto.CodeInvalid, "to: is missing: periods that start before it are run")
	}
	answer, err := s.instances.RunPeriods(c.Request().Context(), name, r)
	if err != nil {
		return err
	}
	if r.Period != "" && len(answer.Periods) == 1 && !answer.Periods[0].Made {
		p := answer.Periods[0]
		return proto.Errorf(proto.CodeConflict, "period %s does not run: %s", p.Name, p.Why)
	}
	if answer.Periods == nil {
		answer.Periods = []proto.RunPeriod{}
	}
	return httpjson.JSON(c, http.StatusOK, answer)
}

// undoInstance has an undo that keeps failing tried now, or no longer tried.
func (s *server) undoInstance(c echo.Context) error {
	name, err := appName(c)
	if err != nil {
		return err
	}
	var u proto.UndoInstance
	if err := httpjson.DecodeStrict(c, &u, s.cfg.BodyLimit); err != nil {
		return err
	}
	switch {
	case u.Instance == "":
		return proto.Errorf(proto.CodeInvalid, "instance: is missing: the name of the instance whose undo fails")
	case u.Do != proto.UndoRetry && u.Do != proto.UndoGiveUp:
		return proto.Errorf(proto.CodeInvalid, "do: expected %q or %q, got %q", proto.UndoRetry, proto.UndoGiveUp, u.Do)
	}
	if err := s.instances.UndoInstance(c.Request().Context(), name, u, caller(c)); err != nil {
		return err
	}
	return httpjson.Empty(c)
}
