package schedule

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/proto"
)

const (
	// maxBlockedPeriods is how many of the newest periods of each app are looked at.
	maxBlockedPeriods = 100
	// maxLooked is at how many occurrences of an upstream app are looked at to find the
	// first one that is missing.
	maxLooked = 10_000
)

// Blocked returns the periods that have begun and wait for upstream apps, of each app
// the newest first, at most 1,000.
func (e *Engine) Blocked(ctx context.Context) ([]proto.Blocked, error) {
	out, after := []proto.Blocked{}, ""
	for {
		rows, err := e.store.AppsAfter(ctx, after, page)
		if err != nil {
			return nil, storeError(err, "")
		}
		for _, row := range rows {
			after = row.App.Name
			if len(row.App.Depends) == 0 {
				continue
			}
			list, err := e.blockedOf(ctx, row.App.Name)
			if err != nil {
				return nil, storeError(err, row.App.Name)
			}
			out = append(out, list...)
			if len(out) >= maxList {
				return out[:maxList], nil
			}
		}
		if len(rows) < page {
			return out, nil
		}
	}
}

func (e *Engine) blockedOf(ctx context.Context, name string) ([]proto.Blocked, error) {
	l, err := e.openLedger(ctx, name)
	if err != nil {
		return nil, err
	}
	list := l.occurrences(l.job.Since, l.now.Add(1), maxBlockedPeriods)
	if len(list) == 0 {
		return nil, nil
	}
	if err := l.read(ctx, list[len(list)-1].Start, list[0].Start.Add(time.Microsecond)); err != nil {
		return nil, err
	}
	var out []proto.Blocked
	for _, o := range list {
		if _, made := l.instances[o.Start.UnixMicro()]; made {
			continue
		}
		b := proto.Blocked{App: name, Name: l.job.cal.Name(o.Start, name), Start: o.Start, End: o.End}
		for _, upstream := range slices.Sorted(maps.Keys(l.job.App.Depends)) {
			on, err := e.blockedOn(ctx, upstream, l.ups[upstream], o, true)
			if err != nil {
				return nil, err
			}
			if on != nil {
				b.On = append(b.On, *on)
			}
		}
		if len(b.On) > 0 {
			out = append(out, b)
		}
	}
	return out, nil
}

// blockedOn says what a period waits for of an upstream app; nil if for nothing. With
// first it finds out what is missing first.
func (e *Engine) blockedOn(ctx context.Context, name string, up *Job, o calendar.Occurrence, first bool) (*proto.BlockedOn, error) {
	if up == nil {
		return &proto.BlockedOn{App: name, Why: "there is no such app"}, nil
	}
	from, _, ok := up.need(o)
	if !ok {
		return nil, nil
	}
	on := &proto.BlockedOn{App: name, Expected: up.cal.Count(from, o.End, maxExpected)}
	var err error
	if on.Done, err = e.store.SucceededCount(ctx, name, from, o.End); err != nil {
		return nil, err
	}
	if on.Done >= on.Expected {
		return nil, nil
	}
	if first {
		err = e.firstMissing(ctx, up, from, o.End, on)
	}
	return on, err
}

// firstMissing says which instance of [from, to) is missing first, and what is known
// of it.
func (e *Engine) firstMissing(ctx context.Context, up *Job, from, to time.Time, on *proto.BlockedOn) error {
	list, err := e.store.PeriodInstances(ctx, up.App.Name, from, to, maxLooked)
	if err != nil {
		return err
	}
	last := make(map[int64]proto.Instance, len(list))
	for _, in := range list {
		if old := last[in.PeriodStart.UnixMicro()]; old.State != proto.InstanceSucceeded {
			last[in.PeriodStart.UnixMicro()] = in
		}
	}
	o, ok := up.cal.Next(from.Add(-1))
	for looked := 0; ok && o.Start.Before(to) && looked < maxLooked; looked++ {
		in, made := last[o.Start.UnixMicro()]
		if !made || in.State != proto.InstanceSucceeded {
			on.First = up.cal.Name(o.Start, up.App.Name)
			on.Why = e.whyMissing(up, o, in, made)
			return nil
		}
		o, ok = up.cal.Next(o.Start)
	}
	return nil
}

func (e *Engine) whyMissing(up *Job, o calendar.Occurrence, in proto.Instance, made bool) string {
	switch {
	case made && in.Reason != "":
		return fmt.Sprintf("%s: %s", in.State, in.Reason)
	case made:
		return in.State.String()
	case up.Paused:
		return "the app is paused"
	case up.due(o.Start).After(e.clock.now()):
		return "due at " + up.due(o.Start).UTC().Format(time.RFC3339)
	case !up.recurring():
		return "waits for its own upstream apps"
	}
	return "it did not run"
}
