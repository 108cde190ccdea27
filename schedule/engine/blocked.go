package engine

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
		if _, ok := made[o.Start.UnixMicro()]; ok || l.starts.nothingIn(l.job, o) != "" {
			continue
		}
		b := proto.Blocked{App: name, Name: l.job.cal.Name(o.Start, name), Start: o.Start, End: o.End}
		for _, upstream := range slices.Sorted(maps.Keys(l.job.App.Depends)) {
			on, err := l.blockedOn(ctx, upstream, o)
			if err == nil && on != nil && l.ups[upstream] != nil {
				err = all.firstMissing(ctx, upstream, o, on)
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
func (l *ledger) blockedOn(ctx context.Context, name string, o calendar.Occurrence) (*proto.BlockedOn, error) {
	up := l.ups[name]
	if up == nil {
		return &proto.BlockedOn{App: name, Why: "there is no such app"}, nil
	}
	done, needed, err := l.e.doneAll(ctx, l.starts, up, o.Start, o.End)
	if err != nil || done || !needed {
		return nil, err
	}
	on := &proto.BlockedOn{App: name, Expected: l.starts.count(up, o.Start, o.End)}
	on.Done, err = l.e.succeededOf(ctx, l.starts, up, o.Start, o.End)
	return on, err
}

// succeededOf returns how many of the expected periods of a job that start in
// [from, to) have SUCCEEDED.
func (e *Engine) succeededOf(ctx context.Context, s *starts, j *Job, from, to time.Time) (int, error) {
	first, last, ok := s.between(j, from, to)
	if !ok {
		return 0, nil
	}
	if j.recurring() {
		return e.store.SucceededCount(ctx, j.App.Name, first.Start, last.Start.Add(time.Microsecond))
	}
	list, err := e.store.SucceededStarts(ctx, j.App.Name, first.Start, last.Start.Add(time.Microsecond), maxExpected)
	n := 0
	for _, start := range list {
		if o, ok := s.next(j, start); ok && o.Start.Equal(start) {
			n++
		}
	}
	return n, err
}

// firstMissing says which period of an upstream app is missing first for a period, and
// what the ledger knows of it.
func (all *ledgers) firstMissing(ctx context.Context, name string, o calendar.Occurrence, on *proto.BlockedOn) error {
	l, err := all.of(ctx, name)
	if err != nil {
		return err
	}
	x, _, ok := l.starts.between(l.job, o.Start, o.End)
	if !ok {
		return nil
	}
	if err := l.read(ctx, x.Start, o.End); err != nil {
		return err
	}
	for looked := 0; ok && x.Start.Before(o.End) && looked < maxLooked; looked++ {
		if !l.succeeded[x.Start.UnixMicro()] {
			p, err := l.period(ctx, line{Occurrence: x, expected: true})
			on.First, on.Why = p.Name, standing(p)
			return err
		}
		x, ok = l.starts.next(l.job, x.Start.Add(time.Nanosecond))
	}
	return nil
}
