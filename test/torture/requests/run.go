package requests

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/treadle-run/treadle/test/torture"
	"github.com/treadle-run/treadle/test/torture/requests/audit"
)

// Run does a whole test and returns its report. The error says that the test could not
// be done; violations are in the report.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	if o.DB == torture.OnSQLite {
		o.RMs = 1
	}
	// A bound for everything, so that nothing of it stays behind.
	ctx, cancel := context.WithTimeout(ctx, o.For+o.Settle+10*time.Minute)
	defer cancel()
	s, err := newSystem(o)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	r, err := s.torture(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w; logs are in %s", err, s.dir)
	}
	if err := torture.Write(s.dir, r); err != nil {
		return nil, err
	}
	s.removeDir = s.ownDir && len(r.Violations) == 0 && !o.Keep
	return r, nil
}

// torture runs load and faults, heals, waits, and checks.
func (s *system) torture(ctx context.Context) (*Report, error) {
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	started := time.Now()
	watch := newWatch(s)
	load := &load{s: s, open: watch.openNow}
	faulty, stop := context.WithTimeout(ctx, s.o.For)
	defer stop()
	watching, stopWatch := context.WithCancel(ctx)
	var clients, watchers sync.WaitGroup
	defer func() { stopWatch(); watchers.Wait() }()
	clients.Go(func() { load.run(faulty) })
	watchers.Go(func() { watch.run(watching) })
	watchers.Go(func() { s.keep(faulty) })
	b := &breaker{s: s, watch: watch}
	x := &torture.Runner{Do: b.do, Say: s.o.Say}
	err := x.Run(faulty, started, Plan(s.o)) // also heals what is still broken
	healed := time.Now()
	clients.Wait()
	if err != nil {
		return nil, err
	}
	if err := s.startMissing(ctx); err != nil {
		return nil, err
	}
	s.o.Say.Printf("all is well again: waiting for the requests to end")
	late := load.settle(ctx)
	settled := time.Since(healed)
	stopWatch()
	watchers.Wait()
	if late != nil && ctx.Err() != nil {
		return nil, errors.Join(late, context.Cause(ctx))
	}
	r := s.newReport(load, watch)
	r.Settled = settled
	return r, s.check(ctx, r, x.Events(), load)
}

// keep starts again what ended by itself. A manager ends if it finds no database when
// it starts; all else shows in the logs.
func (s *system) keep(ctx context.Context) {
	torture.Keep(ctx, 500*time.Millisecond, func() []*torture.Service {
		var all []*torture.Service
		for _, x := range s.services() {
			all = append(all, x.Service)
		}
		return all
	}, func(x *torture.Service) {
		s.o.Say.Printf("%s has ended by itself, exit code %d; started again", x.Name, x.ExitCode())
	}, s.o.Say)
}

// check looks at everything. The order: what runs, while the services do; then what
// the services leave behind when they end; then what is stored.
func (s *system) check(ctx context.Context, r *Report, events []torture.Event, l *load) error {
	var found torture.Findings
	s.checkProcesses(ctx, &found)
	r.Check = s.verbCheck(ctx, &found)
	for _, x := range s.services() {
		x.end()
	}
	s.checkLeft(ctx, &found)
	a := audit.New(s.look, s.dir, events, l.asked(), &found)
	figures, err := a.Check(ctx)
	if err != nil {
		return err
	}
	r.Figures = figures
	r.Errors = s.checkLogs(&found)
	r.Count(events, &found)
	return nil
}
