package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/plan"
	"github.com/treadle-run/treadle/schedule/store"
)

const (
	// maxConf bounds conf, in bytes; maxConfInstances how many results are read for it
	// of one upstream app.
	maxConf          = 256 << 10
	maxConfInstances = 2000
)

// extras makes instances that are not recurring ones: for a period that is complete
// upstream, or that was asked for.
type extras struct {
	store *store.Store
	clock *clock
}

// make returns an instance that is not a recurring one, due now.
func (x *extras) make(ctx context.Context, app *plan.App, o calendar.Occurrence) (*store.NewInstance, error) {
	n := newInstance(app.Instance(o))
	n.Recurring = false
	now := x.clock.now()
	n.Due = now
	if app.Recurring() {
		return n, nil
	}
	var err error
	if n.Conf, err = x.conf(ctx, app, o); err != nil {
		return nil, err
	}
	n.Due = now.Add(app.DueAt(o.Start).Sub(o.Start)) // the jitter
	if delay := time.Duration(app.Def.FailureDelay); delay > 0 {
		last, err := x.store.LastInstance(ctx, app.Def.Name)
		switch {
		case errors.Is(err, store.ErrNotFound):
		case err != nil:
			return nil, err
		case last.State == proto.InstanceFailed && last.FinishedAt != nil && last.FinishedAt.Add(delay).After(n.Due):
			n.FetchAt, n.Reason = last.FinishedAt.Add(delay), plan.ReasonDelay
		}
	}
	return n, nil
}

// upstreamConf is what an instance is told of an upstream app. Results are by name of
// the instance.
type upstreamConf struct {
	Count   int                        `json:"count"`
	Results map[string]json.RawMessage `json:"results,omitempty"`
	// Omitted says that the results are too large, or too many.
	Omitted bool `json:"omitted,omitempty"`
}

// conf returns what the instance of a period is given: the results of its upstream
// instances, by app.
func (x *extras) conf(ctx context.Context, app *plan.App, o calendar.Occurrence) (json.RawMessage, error) {
	conf, size := map[string]*upstreamConf{}, 0
	for _, name := range slices.Sorted(maps.Keys(app.Def.Depends)) {
		n, err := x.store.SucceededCount(ctx, name, o.Start, o.End)
		if err != nil {
			return nil, err
		}
		c := &upstreamConf{Count: n}
		conf[name] = c
		if n > maxConfInstances || size > maxConf {
			c.Omitted = true
			continue
		}
		list, err := x.store.SucceededInstances(ctx, name, o.Start, o.End, maxConfInstances)
		if err != nil {
			return nil, err
		}
		c.Results = make(map[string]json.RawMessage, len(list))
		for _, in := range list { // of several runs, the last one is last
			r := in.Result
			if len(r) == 0 {
				r = json.RawMessage("{}")
			}
			c.Results[in.Name] = r
			size += len(r) + len(in.Name) + 8
		}
	}
	if size > maxConf {
		for _, c := range conf {
			c.Results, c.Omitted = nil, true
		}
	}
	b, err := json.Marshal(conf)
	if err != nil {
		return nil, fmt.Errorf("conf of %s: %w", app.Def.Name, err)
	}
	return b, nil
}
