package audit

import (
	"context"
	"database/sql"
	"slices"
	"strings"
)

// instance is a row of either table.
type instance struct {
	number            uint64
	state             int
	start             int64 // of its period
	started, finished sql.NullInt64
}

// ledger is what is known of a job.
type ledger struct {
	since     int64
	instances map[int64]instance // by the start of the period
	skipped   []interval         // periods that start from the one to the other
}

// slotSlack is by how much the times of two instances may seem to overlap: a
// transaction takes the time when it begins, and then may wait for the other.
const slotSlack = 1_000_000

// checkLedger holds all periods of all jobs against what must be so when nothing runs
// any more.
func (a *Audit) checkLedger(ctx context.Context, tx *sql.Tx) error {
	ledgers, err := a.readLedgers(ctx, tx)
	if err != nil {
		return err
	}
	for _, j := range a.cfg.Jobs {
		l := ledgers[j.App]
		if l == nil {
			a.cfg.Found.Add("ledger", "%s: there is no such app", j.App)
			continue
		}
		if j.Every > 0 {
			a.checkGrid(j, l)
		} else {
			a.checkDependent(j, ledgers)
		}
		if !j.Allow {
			a.checkSlot(j, l)
		}
	}
	return nil
}

func (a *Audit) readLedgers(ctx context.Context, tx *sql.Tx) (map[string]*ledger, error) {
	all := map[string]*ledger{}
	from, to := a.between()
	err := each(ctx, tx, func(r *sql.Rows) error {
		var app string
		l := &ledger{instances: map[int64]instance{}}
		err := r.Scan(&app, &l.since)
		all[app] = l
		return err
	}, `SELECT name, since FROM schedule_apps WHERE name >= ? AND name < ?`, from, to)
	if err != nil {
		return nil, err
	}
	err = each(ctx, tx, func(r *sql.Rows) error {
		var app string
		var i instance
		if err := r.Scan(&app, &i.number, &i.state, &i.start, &i.started, &i.finished); err != nil {
			return err
		}
		if all[app] == nil {
			a.cfg.Found.Add("ledger", "%s/%d: there is no such app", app, i.number)
			return nil
		}
		all[app].instances[i.start] = i
		return nil
	}, `SELECT app, number, state, period_start, started_at, finished_at FROM schedule_archive WHERE app >= ? AND app < ?
		UNION ALL SELECT app, number, state, period_start, started_at, NULL FROM schedule_instances WHERE app >= ? AND app < ?`,
		from, to, from, to)
	if err != nil {
		return nil, err
	}
	err = each(ctx, tx, func(r *sql.Rows) error {
		var app string
		var i interval
		if err := r.Scan(&app, &i.from, &i.to); err != nil {
			return err
		}
		if l := all[app]; l != nil {
			l.skipped = append(l.skipped, i)
		}
		return nil
	}, `SELECT app, period_start, period_to FROM schedule_events WHERE app >= ? AND app < ? AND kind = 'skipped'`, from, to)
	return all, err
}

// checkGrid checks that every period, from the first to the last that is known, has
// an instance or is written down as skipped, and not both.
func (a *Audit) checkGrid(j Job, l *ledger) {
	every := j.Every.Microseconds()
	known := map[int64]int{}
	for start, i := range l.instances {
		if start%every != 0 {
			a.cfg.Found.Add("ledger", "%s/%d: its period starts at %d, which is not on the grid", j.App, i.number, start)
			return
		}
		known[start]++
	}
	for _, s := range l.skipped {
		for start := s.from; start <= s.to; start += every {
			known[start]++
		}
	}
	if len(known) == 0 {
		a.cfg.Found.Add("ledger", "%s: has no instance at all", j.App)
		return
	}
	var starts []int64
	for start, n := range known {
		starts = append(starts, start)
		if n > 1 {
			a.cfg.Found.Add("ledger", "%s: the period of %d is there %d times, as instance or skipped", j.App, start, n)
		}
	}
	slices.Sort(starts)
	if first := starts[0]; first < l.since || first >= l.since+2*every {
		a.cfg.Found.Add("ledger", "%s: the first period is that of %d, since is %d", j.App, first, l.since)
	}
	for i, start := range starts[1:] {
		if start != starts[i]+every {
			a.cfg.Found.Add("ledger", "%s: between the periods of %d and %d there is neither an instance nor that they were skipped", j.App, starts[i], start)
		}
	}
}

// checkDependent checks that there is an instance exactly for the periods that all
// instances of the upstream jobs have SUCCEEDED in.
func (a *Audit) checkDependent(j Job, all map[string]*ledger) {
	l, period := all[j.App], j.Period.Microseconds()
	candidates := map[int64]bool{}
	for _, up := range j.Upstream {
		if all[up] == nil {
			return // said already
		}
		for start := range all[up].instances {
			candidates[start-start%period] = true
		}
	}
	for start := range l.instances {
		if !candidates[start] {
			a.cfg.Found.Add("dependents", "%s: an instance for the period of %d, in which nothing upstream ran", j.App, start)
		}
	}
	for start := range candidates {
		i, made := l.instances[start]
		if missing := a.missing(j, all, start, start+period); made && missing != "" {
			a.cfg.Found.Add("dependents", "%s/%d: its period is that of %d, and %s has not succeeded", j.App, i.number, start, missing)
		} else if !made && missing == "" && start >= l.since {
			a.cfg.Found.Add("dependents", "%s: all of %s has succeeded for the period of %d, and there is no instance", j.App, strings.Join(j.Upstream, ", "), start)
		}
	}
}

// missing names an upstream job that has not SUCCEEDED for all of a period; "" if
// there is none.
func (a *Audit) missing(j Job, all map[string]*ledger, from, to int64) string {
	for _, up := range j.Upstream {
		every := int64(0)
		for _, x := range a.cfg.Jobs {
			if x.App == up {
				every = x.Every.Microseconds()
			}
		}
		for start := from; start < to; start += every {
			if start < all[up].since {
				continue // not expected
			}
			if all[up].instances[start].state != succeeded {
				return up
			}
		}
	}
	return ""
}

// checkSlot checks that instances that may not overlap did not.
func (a *Audit) checkSlot(j Job, l *ledger) {
	var ran []instance
	for _, i := range l.instances {
		if i.started.Valid && i.finished.Valid {
			ran = append(ran, i)
		}
	}
	slices.SortFunc(ran, func(x, y instance) int { return int(min(max(x.started.Int64-y.started.Int64, -1), 1)) })
	for n := 1; n < len(ran); n++ {
		x, y := ran[n-1], ran[n]
		if y.started.Int64 < x.finished.Int64-slotSlack {
			a.cfg.Found.Add("overlap", "%s/%d started at %d, %s/%d ended at %d", j.App, y.number, y.started.Int64, j.App, x.number, x.finished.Int64)
		}
	}
}
