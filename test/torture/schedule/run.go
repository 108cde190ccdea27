package schedule

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/test/torture"
)

// Run does a whole test and returns its report. The error says that the test could not
// be done; violations are in the report. When ctx ends, the test ends early and in
// good order.
func Run(ctx context.Context, o Options) (r *Report, err error) {
	t, err := newTest(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, t.close()) }()
	if r, err = t.torture(ctx); err != nil {
		err = fmt.Errorf("%w; logs are in %s", err, t.dir)
	}
	for _, m := range t.all() {
		m.Kill()
	}
	if !o.Keep {
		cleaning, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		err = errors.Join(err, t.clean(cleaning))
	}
	if err == nil && t.ownDir && len(r.Violations) == 0 {
		return r, os.RemoveAll(t.dir)
	}
	return r, err
}

// torture does the faults, waits until all jobs have succeeded again, and checks.
func (t *test) torture(ctx context.Context) (*Report, error) {
	r := &Report{
		Report:  torture.Report{Workload: "schedule", Database: t.databaseKind(), Seed: t.o.Seed, Length: t.o.For, Dir: t.dir},
		Members: t.o.Members, Jobs: t.o.Jobs, Scale: t.o.Scale,
	}
	for i := range t.o.Members {
		if err := t.addMember(memberName(i)).Start(); err != nil {
			return nil, err
		}
	}
	t.o.Say.Printf("%d members run %d jobs; logs are in %s", t.o.Members, t.o.Jobs, t.dir)
	watching, stopWatch := context.WithCancel(ctx)
	x := &torture.Runner{Do: t.do, Say: t.o.Say}
	var watchers sync.WaitGroup
	defer func() { stopWatch(); watchers.Wait() }()
	watchers.Go(func() { t.watch(watching) })
	watchers.Go(func() { t.keep(watching) })
	faulty, stop := context.WithTimeout(ctx, t.o.For)
	defer stop()
	if err := x.Run(faulty, time.Now(), Plan(t.o)); err != nil {
		return nil, err
	}
	r.Interrupted = ctx.Err() != nil
	// What follows is bounded by itself, and is done also after Ctrl-C.
	living := context.WithoutCancel(ctx)
	healed := time.Now()
	if r.Interrupted {
		t.o.Say.Printf("interrupted: shutting down")
	} else {
		t.o.Say.Printf("the faults are over: waiting for every job to succeed once more")
		t.awaitSuccess(ctx)
		r.Settled = time.Since(healed)
		r.Interrupted = ctx.Err() != nil
	}
	stopWatch()
	watchers.Wait()
	if err := t.rest(living); err != nil {
		return nil, err
	}
	return r, t.finish(living, x.Events(), r)
}

// databaseKind names the database for the report.
func (t *test) databaseKind() string {
	switch {
	case t.own != nil:
		return t.own.Kind
	case t.mysql():
		return "the database of the configuration, on MySQL"
	}
	return "the database of the configuration, on SQLite"
}

// finish ends all members and checks everything.
func (t *test) finish(ctx context.Context, events []torture.Event, r *Report) error {
	for _, m := range t.all() {
		t.end(m)
	}
	t.checkLogs()
	err := t.insist(ctx, time.Minute, func() error { return t.audit.Final(ctx) })
	if err != nil {
		return err
	}
	if r.Figures, err = t.audit.Figures(ctx); err != nil {
		return err
	}
	r.Looks = t.audit.Looks()
	r.Calls, r.Shared, r.Longest = t.audit.Traces()
	r.Count(events, &t.found)
	if r.Figures.Succeeded == 0 && !r.Interrupted {
		return errors.New("the test shows nothing: no job succeeded")
	}
	return nil
}

// watch looks all the time. It takes a tenth of the time at most.
func (t *test) watch(ctx context.Context) {
	between := 2 * t.o.Scale
	for wait.For(ctx, between) == nil {
		began := time.Now()
		if err := t.audit.Look(ctx); err != nil && ctx.Err() == nil && t.own == nil {
			t.o.Say.Printf("could not look: %v", err)
		}
		between = max(2*t.o.Scale, 10*time.Since(began))
	}
}

// settleFor is how many scale units all jobs have to succeed once more: chains of
// failures and of undos that fail are part of it.
const settleFor = 240

// hopeless is how many violations make waiting pointless.
const hopeless = 20

// awaitSuccess waits until each job has an instance that started from now on and
// succeeded.
func (t *test) awaitSuccess(ctx context.Context) {
	var healed time.Time
	var missing []string
	err := t.insist(ctx, t.limit(), func() (err error) {
		if healed.IsZero() {
			if healed, err = t.audit.Now(ctx); err != nil {
				return err
			}
		}
		n, err := t.audit.Succeeded(ctx, healed)
		missing = nil
		for _, j := range t.jobs {
			if n[j.App] == 0 {
				missing = append(missing, j.App)
			}
		}
		if err == nil && len(missing) > 0 && len(t.found.All()) < hopeless {
			err = fmt.Errorf("%d jobs have not succeeded again", len(missing))
		}
		return err
	})
	if err != nil && ctx.Err() == nil {
		t.found.Add("no success after the faults", "%v within %s: %s", err, t.limit(), strings.Join(missing, ", "))
	}
}

func (t *test) limit() time.Duration { return settleFor * t.o.Scale * time.Duration(t.o.Slack) }

// rest pauses all jobs and waits until nothing runs.
func (t *test) rest(ctx context.Context) error {
	for _, j := range t.jobs {
		err := t.insist(ctx, time.Minute, func() error { return t.engine.PauseApp(ctx, j.App, true) })
		if err != nil {
			return fmt.Errorf("pause %s: %w", j.App, err)
		}
	}
	err := t.insist(ctx, t.limit(), func() error {
		n, err := t.audit.Unrest(ctx)
		if err == nil && n > 0 {
			err = fmt.Errorf("%d instances and signals are under way", n)
		}
		return err
	})
	if err != nil {
		t.found.Add("no rest after the faults", "%v, %s after all jobs were paused", err, t.limit())
	}
	return nil
}

// insist calls f until it succeeds, for some time.
func (t *test) insist(ctx context.Context, limit time.Duration, f func() error) error {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := f()
		if err == nil || wait.For(limited, t.o.Scale/2) != nil {
			return err
		}
	}
}
