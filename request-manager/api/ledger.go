package api

import (
	"context"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/treadle-run/treadle/proto"
)

// Ledger says what became of the periods of apps, and what will. A limit of 0 is a
// default.
type Ledger interface {
	Periods(ctx context.Context, name string, since, until time.Time, limit int) ([]proto.Period, error)
	NextTimes(ctx context.Context, name string, from time.Time, n int) ([]proto.NextTime, error)
	Events(ctx context.Context, name string, since uint64, limit int) ([]proto.AppEvent, error)
	Blocked(ctx context.Context, name string, limit int) ([]proto.Blocked, error)
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
	periods, err := s.ledger.Periods(c.Request().Context(), name, since, until, int(limit))
	return answerList(c, periods, err)
}

// maxFrom is the last time after which coming times of an app are computed: calendars
// end some time after it.
var maxFrom = time.Date(2999, time.December, 31, 23, 59, 59, 0, time.UTC)

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
	if from.After(maxFrom) {
		return proto.Errorf(proto.CodeInvalid, "from: expected a time before the year %d, got %q", maxFrom.Year()+1, q.Get("from"))
	}
	n, err := parseCount(q, "n")
	if err != nil {
		return err
	}
	if n > maxNextTimes {
		return proto.Errorf(proto.CodeInvalid, "n: at most %d, got %d", maxNextTimes, n)
	}
	times, err := s.ledger.NextTimes(c.Request().Context(), name, from, int(n))
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
	events, err := s.ledger.Events(c.Request().Context(), name, since, int(limit))
	return answerList(c, events, err)
}

func (s *server) getBlocked(c echo.Context) error {
	q, err := parseQuery(c, "app", "limit")
	if err != nil {
		return err
	}
	limit, err := parseCount(q, "limit")
	if err != nil {
		return err
	}
	blocked, err := s.ledger.Blocked(c.Request().Context(), q.Get("app"), int(limit))
	return answerList(c, blocked, err)
}
