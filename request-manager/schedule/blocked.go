package schedule

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

const (
	// maxBlockedPeriods is how many of the newest periods of each app are looked at.
	maxBlockedPeriods = 100
	// maxLooked is at how many occurrences of an upstream app are looked at to find the
	// first one that is missing.
	maxLooked = 10_000
)

// Blocked returns the periods that have begun and wait for upstream apps, of each app
// the newest first, at most limit (1,000 if 0); only those of one app if name is not "".
func (e *Engine) Blocked(ctx context.Context, name string, limit int) ([]proto.Blocked, error) {
	limit = limited(limit, maxList)
	all, err := e.openLedgers(ctx)
	if err != nil {
		return nil, storeError(err, name)
	}
	if name != "" {
		list, err := all.blockedOf(ctx, name, limit)
		return list, storeError(err, name)
	}
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
			list, err := all.blockedOf(ctx, row.App.Name, limit-len(out))
			if err != nil && !errors.Is(err, store.ErrNotFound) { // deleted meanwhile
				return nil, storeError(err, row.App.Name)
			}
			if out = append(out, list...); len(out) >= limit {
				return out, nil
			}
		}
		if len(rows) < page {
			return out, nil
		}
	}
}

func (all *ledgers) blockedOf(ctx context.Context, name string, limit int) ([]proto.Blocked, error) {
	l, err := all.of(ctx, name)
	if err != nil {
		return nil, err
	}
	out := []proto.Blocked{}
	list := l.expected(l.job.Since, l.now.Add(1), maxBlockedPeriods)
	if len(list) == 0 || l.job.recurring() {
		return out, nil
	}
	// As a ledger of an upstream app it is read for other periods.
	if err := l.read(ctx, list[len(list)-1].Start, list[0].Start.Add(time.Microsecond)); err != nil {
		return nil, err
	}
	made := l.instances
	for _, o := range list {
		if _, ok := made[o.Start.UnixMicro()]; ok {
			continue
		}
		b := proto.Blocked{App: name, Name: l.job.cal.Name(o.Start, name), Start: o.Start, End: o.End}
		for _, upstream := range slices.Sorted(maps.Keys(l.job.App.Depends)) {
			on, err := all.e.blockedOn(ctx, upstream, l.ups[upstream], o)
			if err == nil && on != nil && l.ups[upstream] != nil {
				err = all.firstMissing(ctx, l.ups[upstream], o, on)
			}
			if err != nil && !errors.Is(err, store.ErrNotFound) {
				return nil, err
			}
			if on != nil {
				b.On = append(b.On, *on)
			}
		}
		if len(b.On) == 0 {
			continue
		}
		if out = append(out, b); len(out) >= limit {
			break
		}
	}
	return out, nil
}

// blockedOn says what a period waits for of an upstream app; nil if for nothing.
func (e *Engine) blockedOn(ctx context.Context, name string, up *Job, o calendar.Occurrence) (*proto.BlockedOn, error) {
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
	return on, nil
}

// firstMissing says which period of an upstream app is missing first for a period, and
// what the ledger knows of it.
func (all *ledgers) firstMissing(ctx context.Context, up *Job, o calendar.Occurrence, on *proto.BlockedOn) error {
	l, err := all.of(ctx, up.App.Name)
	if err != nil {
		return err
	}
	from, _, _ := up.need(o)
	if err := l.read(ctx, from, o.End); err != nil {
		return err
	}
	x, ok := l.job.cal.Next(from.Add(-1))
	for looked := 0; ok && x.Start.Before(o.End) && looked < maxLooked; looked++ {
		if !l.succeeded[x.Start.UnixMicro()] {
			p, err := l.period(ctx, line{Occurrence: x, expected: true})
			on.First, on.Why = p.Name, standing(p)
			return err
		}
		x, ok = l.job.cal.Next(x.Start)
	}
	return nil
}
