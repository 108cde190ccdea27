package ledger

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/store"
)

const (
	// maxBlockedPeriods is how many of the newest periods of each app are looked at.
	maxBlockedPeriods = 100
	// maxLooked is how many occurrences of an upstream app are looked at to find the
	// first one that is missing.
	maxLooked = 10_000
)

// Blocked returns the started periods that wait for upstream apps, of each app the newest
// first, no more than limit (1,000 if 0); only those of one app if name is not "".
func (l *Ledger) Blocked(ctx context.Context, name string, limit int) ([]proto.Blocked, error) {
	limit = limited(limit, maxList)
	all, err := l.open(ctx)
	if err != nil {
		return nil, ForUser(err, name)
	}
	if name != "" {
		list, err := all.blockedOf(ctx, name, limit)
		return list, ForUser(err, name)
	}
	out, after := []proto.Blocked{}, ""
	for {
		rows, err := l.store.AppsAfter(ctx, after, page)
		if err != nil {
			return nil, ForUser(err, "")
		}
		for _, row := range rows {
			after = row.App.Name
			if len(row.App.Depends) == 0 {
				continue
			}
			list, err := all.blockedOf(ctx, row.App.Name, limit-len(out))
			if err != nil && !errors.Is(err, store.ErrNotFound) { // deleted meanwhile
				return nil, ForUser(err, row.App.Name)
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

func (all *appLedgers) blockedOf(ctx context.Context, name string, limit int) ([]proto.Blocked, error) {
	l, err := all.of(ctx, name)
	if err != nil {
		return nil, err
	}
	out := []proto.Blocked{}
	list := l.expected(l.app.Since, l.now.Add(1), maxBlockedPeriods)
	if len(list) == 0 || l.app.Recurring() {
		return out, nil
	}
	// As a ledger of an upstream app it is read for other periods.
	if err := l.read(ctx, list[len(list)-1].Start, list[0].Start.Add(time.Microsecond)); err != nil {
		return nil, err
	}
	made := l.instances
	for _, o := range list {
		if _, ok := made[o.Start.UnixMicro()]; ok || l.starts.NothingIn(l.app, o) != "" {
			continue
		}
		b := proto.Blocked{App: name, Name: l.app.Calendar.Name(o.Start, name), Start: o.Start, End: o.End}
		for _, upstream := range slices.Sorted(maps.Keys(l.app.Def.Depends)) {
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
func (l *appLedger) blockedOn(ctx context.Context, name string, o calendar.Occurrence) (*proto.BlockedOn, error) {
	up := l.ups[name]
	if up == nil {
		return &proto.BlockedOn{App: name, Why: "there is no such app"}, nil
	}
	done, needed, err := l.upstream.doneAll(ctx, l.starts, up, o.Start, o.End)
	if err != nil || done || !needed {
		return nil, err
	}
	on := &proto.BlockedOn{App: name, Expected: l.starts.Count(up, o.Start, o.End)}
	on.Done, err = l.upstream.SucceededOf(ctx, l.starts, up, o.Start, o.End)
	return on, err
}

// firstMissing says which period of an upstream app is missing first for a period, and
// what the ledger knows of it.
func (all *appLedgers) firstMissing(ctx context.Context, name string, o calendar.Occurrence, on *proto.BlockedOn) error {
	l, err := all.of(ctx, name)
	if err != nil {
		return err
	}
	x, _, ok := l.starts.Between(l.app, o.Start, o.End)
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
		x, ok = l.starts.Next(l.app, x.Start.Add(time.Nanosecond))
	}
	return nil
}
