package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/plan"
	"github.com/treadle-run/treadle/schedule/store"
)

// maxHolders is how many instances of an app are looked at for what holds up others.
const maxHolders = 1000

// Ledger answers what users ask about recurring work. It only reads.
type Ledger struct {
	store    *store.Store
	upstream *Upstream
	declared map[string]bool // names of the apps of the specs
}

// New returns a Ledger. declared has the names of the apps of the specs.
func New(s *store.Store, upstream *Upstream, declared map[string]bool) *Ledger {
	return &Ledger{store: s, upstream: upstream, declared: declared}
}

const (
	// maxList is how many entries a list has.
	maxList = 1000
	// page is how many apps are read at a time.
	page = 500
)

func limited(n, def int) int {
	if n <= 0 {
		return def
	}
	return min(n, maxList)
}

// appLedgers are those that one answer needs, each opened once. All are of one moment.
type appLedgers struct {
	store    *store.Store
	upstream *Upstream
	now      time.Time
	opened   map[string]*appLedger
}

func (l *Ledger) open(ctx context.Context) (*appLedgers, error) {
	now, err := l.store.Now(ctx)
	return &appLedgers{store: l.store, upstream: l.upstream, now: now, opened: map[string]*appLedger{}}, err
}

// appLedger is what is known of the periods of an app.
type appLedger struct {
	store    *store.Store
	upstream *Upstream

	app          *plan.App
	paused       bool
	activeNumber uint64 // of the instance that holds the slot of the app; 0 is none
	now          time.Time
	ups          map[string]*plan.App
	// starts tells which periods are expected, of the app and of all above it.
	starts *plan.Starts

	holders    []store.DueInstance
	instances  map[int64]proto.Instance // the last run, by start of the period
	succeeded  map[int64]bool           // by start of the period: a run of it has
	skipped    []store.AppEvent
	dependents []string
	looked     int
}

// of returns the ledger of an app.
func (all *appLedgers) of(ctx context.Context, name string) (*appLedger, error) {
	if l := all.opened[name]; l != nil {
		return l, nil
	}
	row, err := all.store.App(ctx, name)
	if err != nil {
		return nil, err
	}
	app, err := Compile(row)
	if err != nil {
		return nil, err
	}
	l := &appLedger{store: all.store, upstream: all.upstream, app: app, paused: row.Paused, activeNumber: row.ActiveNumber, now: all.now}
	if l.starts, err = all.upstream.Starts(ctx, app); err != nil {
		return nil, err
	}
	l.ups = make(map[string]*plan.App, len(app.Def.Depends))
	for up := range app.Def.Depends {
		if l.starts.Apps[up] != nil {
			l.ups[up] = l.starts.Apps[up]
		}
	}
	if l.holders, err = all.store.Holders(ctx, name, maxHolders); err != nil {
		return nil, err
	}
	dependents, err := all.store.Dependents(ctx, name)
	l.dependents = slices.Sorted(maps.Keys(dependents))
	all.opened[name] = l
	return l, err
}

// line is a period that the ledger shows.
type line struct {
	calendar.Occurrence
	// expected says that the calendar has it, from `since` of the app on.
	expected bool
	// skipped says why it does not run, if that is known beforehand.
	skipped string
}

// lines returns the newest limit periods that start in [since, until), newest first:
// those that are expected, and of what was before, or by other times than those of
// now, what there is: instances, and periods that were skipped.
func (l *appLedger) lines(ctx context.Context, since, until time.Time, limit int) ([]line, error) {
	if until.IsZero() {
		until = l.now.Add(time.Microsecond)
		if o, ok := l.app.Calendar.Next(l.now); ok {
			until = o.Start.Add(time.Microsecond)
		}
	}
	byStart := map[int64]line{}
	for _, o := range l.expected(since, until, limit) {
		byStart[o.Start.UnixMicro()] = line{Occurrence: o, expected: true}
	}
	before, err := l.skippedBefore(ctx, since, until, limit)
	if err != nil {
		return nil, err
	}
	for _, x := range before {
		byStart[x.Start.UnixMicro()] = x
	}
	starts, err := l.store.PeriodStarts(ctx, l.app.Def.Name, since, until, limit)
	if err != nil {
		return nil, err
	}
	for _, start := range starts {
		x := line{Occurrence: calendar.Occurrence{Start: start}}
		if o, ok := l.onGrid(start); ok {
			x.Occurrence, x.expected = o, !start.Before(l.app.Since)
		}
		byStart[start.UnixMicro()] = x
	}
	out := slices.SortedFunc(maps.Values(byStart), func(a, b line) int { return b.Start.Compare(a.Start) })
	return out[:min(len(out), limit)], nil
}

// expected returns the newest limit periods in [since, until) that are expected,
// newest first.
func (l *appLedger) expected(since, until time.Time, limit int) []calendar.Occurrence {
	if since.Before(l.app.Since) {
		since = l.app.Since
	}
	var list []calendar.Occurrence
	o, ok := l.app.Calendar.AtOrBefore(until.Add(-1))
	for ; ok && len(list) < limit && !o.Start.Before(since); o, ok = l.app.Before(o) {
		list = append(list, o)
	}
	return list
}

// skippedBefore returns the newest limit periods in [since, until) that were skipped
// and lie before `since` of the app. If its times were others then, periods that were
// skipped together are one line.
func (l *appLedger) skippedBefore(ctx context.Context, since, until time.Time, limit int) ([]line, error) {
	if l.app.Since.Before(until) {
		until = l.app.Since
	}
	if !since.Before(until) {
		return nil, nil
	}
	events, err := l.store.LastSkipped(ctx, l.app.Def.Name, since, until, limit)
	if err != nil {
		return nil, err
	}
	var out []line
	for _, ev := range events {
		if !l.fits(ev) {
			x := line{Occurrence: calendar.Occurrence{Start: ev.PeriodStart, End: ev.PeriodTo}, skipped: ev.Reason}
			if ev.Count > 1 {
				x.skipped = fmt.Sprintf("%s (%d periods, the last from %s)", ev.Reason, ev.Count, stamp(ev.PeriodTo))
			}
			if !x.Start.Before(since) {
				out = append(out, x)
			}
			continue
		}
		o, ok := l.app.Calendar.AtOrBefore(ev.PeriodTo)
		for ; ok && len(out) < limit && !o.Start.Before(ev.PeriodStart) && !o.Start.Before(since); o, ok = l.app.Before(o) {
			if o.Start.Before(until) {
				out = append(out, line{Occurrence: o, skipped: ev.Reason})
			}
		}
	}
	return out, nil
}

// fits reports whether the periods of an event are some that the calendar has.
func (l *appLedger) fits(ev store.AppEvent) bool {
	_, first := l.onGrid(ev.PeriodStart)
	_, last := l.onGrid(ev.PeriodTo)
	return first && last && uint64(l.app.Calendar.Count(ev.PeriodStart, ev.PeriodTo.Add(1), plan.MaxCounted)) == min(ev.Count, plan.MaxCounted)
}

// onGrid returns the occurrence that starts then.
func (l *appLedger) onGrid(start time.Time) (calendar.Occurrence, bool) {
	o, ok := l.app.Calendar.AtOrBefore(start)
	return o, ok && o.Start.Equal(start)
}

// read reads what is stored of the periods that start in [from, to).
func (l *appLedger) read(ctx context.Context, from, to time.Time) error {
	list, err := l.store.PeriodInstances(ctx, l.app.Def.Name, from, to, maxLooked)
	if err != nil {
		return err
	}
	l.instances = make(map[int64]proto.Instance, len(list))
	l.succeeded = make(map[int64]bool, len(list))
	for _, in := range list {
		start := in.PeriodStart.UnixMicro()
		if old, ok := l.instances[start]; !ok || in.Number >= old.Number {
			l.instances[start] = in
		}
		if in.State == proto.InstanceSucceeded {
			l.succeeded[start] = true
		}
	}
	l.skipped, err = l.store.SkippedIn(ctx, l.app.Def.Name, from, to)
	return err
}

// whySkipped returns why a period was skipped, or why there is nothing to do in it;
// false if neither is so.
func (l *appLedger) whySkipped(x line) (why string, ok bool) {
	if why = l.starts.NothingIn(l.app, x.Occurrence); x.expected && why != "" {
		return why, true
	}
	if x.skipped != "" || !x.expected {
		return x.skipped, x.skipped != ""
	}
	for _, ev := range l.skipped {
		if !x.Start.Before(ev.PeriodStart) && !x.Start.After(ev.PeriodTo) {
			return ev.Reason, true
		}
	}
	return "", false
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
