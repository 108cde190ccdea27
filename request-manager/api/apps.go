package api

import (
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/treadle-run/treadle/internal/httpjson"
	"github.com/treadle-run/treadle/proto"
)

// maxAppName is the most bytes of the name of an app.
const maxAppName = 75

// appName returns the name of the app that the path names; CodeNotFound for what no
// app can be called.
func appName(c echo.Context) (string, error) {
	name, err := url.PathUnescape(c.Param("name"))
	if err != nil || name == "" || len(name) > maxAppName {
		return "", proto.Errorf(proto.CodeNotFound, "no app with that name")
	}
	return name, nil
}

func (s *server) listApps(c echo.Context) error {
	q, err := parseQuery(c, "after", "limit")
	if err != nil {
		return err
	}
	limit, err := parseCount(q, "limit")
	if err != nil {
		return err
	}
	apps, err := s.scheduler.Apps(c.Request().Context(), q.Get("after"), int(limit))
	return answerList(c, apps, err)
}

func (s *server) getApp(c echo.Context) error {
	name, err := appName(c)
	if err != nil {
		return err
	}
	app, err := s.scheduler.App(c.Request().Context(), name)
	if err != nil {
		return err
	}
	return httpjson.JSON(c, http.StatusOK, app)
}

// putApp makes an app or changes it, and answers how it stands then.
func (s *server) putApp(c echo.Context) error {
	name, err := url.PathUnescape(c.Param("name"))
	if err != nil {
		return proto.Errorf(proto.CodeInvalid, "name: malformed in the path")
	}
	var body proto.AppInput
	if err := httpjson.DecodeStrict(c, &body, s.cfg.BodyLimit); err != nil {
		return err
	}
	app, err := body.Definition()
	if err != nil {
		return err
	}
	if app.Name != "" && app.Name != name {
		return proto.Errorf(proto.CodeInvalid, "name: expected %q as in the path, or none, got %q", name, app.Name)
	}
	app.Name = name
	ctx := c.Request().Context()
	if _, err := s.scheduler.PutApp(ctx, app); err != nil {
		return err
	}
	status, err := s.scheduler.App(ctx, name)
	if err != nil {
		return err
	}
	return httpjson.JSON(c, http.StatusOK, status)
}

func (s *server) deleteApp(c echo.Context) error {
	name, err := appName(c)
	if err != nil {
		return err
	}
	if err := httpjson.DecodeNothing(c, s.cfg.BodyLimit); err != nil {
		return err
	}
	if err := s.scheduler.DeleteApp(c.Request().Context(), name); err != nil {
		return err
	}
	return httpjson.Empty(c)
}

func (s *server) pauseApp(c echo.Context) error { return s.setPaused(c, true) }

func (s *server) resumeApp(c echo.Context) error { return s.setPaused(c, false) }

func (s *server) setPaused(c echo.Context, paused bool) error {
	name, err := appName(c)
	if err != nil {
		return err
	}
	if err := httpjson.DecodeNothing(c, s.cfg.BodyLimit); err != nil {
		return err
	}
	if err := s.scheduler.PauseApp(c.Request().Context(), name, paused); err != nil {
		return err
	}
	return httpjson.Empty(c)
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
	answer, err := s.scheduler.RunPeriods(c.Request().Context(), name, r)
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

func (s *server) getPeriods(c echo.Context) error {
	name, err := appName(c)
	if err != nil {
		return err
	}
	q, err := parseQuery(c, "since", "until", "limit")
	if err != nil {
		return err
	}
	since, err := parseTime(q, "since")
	if err != nil {
		return err
	}
	until, err := parseTime(q, "until")
	if err != nil {
		return err
	}
	limit, err := parseCount(q, "limit")
	if err != nil {
		return err
	}
	periods, err := s.scheduler.Periods(c.Request().Context(), name, since, until, int(limit))
	return answerList(c, periods, err)
}

// maxNextTimes is how many coming times of an app are computed for one call.
const maxNextTimes = 1000

func (s *server) getNextTimes(c echo.Context) error {
	name, err := appName(c)
	if err != nil {
		return err
	}
	q, err := parseQuery(c, "from", "n")
	if err != nil {
		return err
	}
	from, err := parseTime(q, "from")
	if err != nil {
		return err
	}
	n, err := parseCount(q, "n")
	if err != nil {
		return err
	}
	if n > maxNextTimes {
		return proto.Errorf(proto.CodeInvalid, "n: at most %d, got %d", maxNextTimes, n)
	}
	times, err := s.scheduler.NextTimes(c.Request().Context(), name, from, int(n))
	return answerList(c, times, err)
}

func (s *server) getAppEvents(c echo.Context) error {
	name, err := appName(c)
	if err != nil {
		return err
	}
	q, err := parseQuery(c, "since", "limit")
	if err != nil {
		return err
	}
	since, err := parseID(q, "since")
	if err != nil {
		return err
	}
	limit, err := parseCount(q, "limit")
	if err != nil {
		return err
	}
	events, err := s.scheduler.Events(c.Request().Context(), name, since, int(limit))
	return answerList(c, events, err)
}

// answerList answers a list, an empty one as [].
func answerList[T any](c echo.Context, list []T, err error) error {
	if err != nil {
		return err
	}
	if list == nil {
		list = []T{}
	}
	return httpjson.JSON(c, http.StatusOK, list)
}
