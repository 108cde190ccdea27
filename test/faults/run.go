package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// torture does all of it and returns the report. An error says that the test
// itself could not be done.
func torture(ctx context.Context, o options) (*report, error) {
	servers, ok := databases[o.db]
	if !ok {
		return nil, fmt.Errorf("no database %q: mariadb, sqlite or galera", o.db)
	}
	if o.db == onSQLite {
		o.rms = 1
	}
	faults := plan(o.seed, topology{rms: o.rms, jrs: o.jrs, databases: servers}, o.gap, o.length)
	if o.plan {
		for _, f := range faults {
			o.say("%s", f)
		}
		return nil, nil
	}
	// A bound for everything, so that nothing of it stays behind.
	ctx, cancel := context.WithTimeout(ctx, o.length+o.settle+10*time.Minute)
	defer cancel()
	s, err := newSystem(ctx, o)
	if err != nil {
		return nil, err
	}
	defer s.stop()
	r, err := s.torture(ctx, faults)
	if err != nil {
		return nil, fmt.Errorf("%w; logs are in %s", err, s.dir)
	}
	if err := r.write(s.dir); err != nil {
		return nil, err
	}
	o.say("%s", r)
	if len(r.Violations) > 0 || o.keep {
		o.say("everything is kept in %s", s.dir)
	} else {
		s.removeDir = true
	}
	return r, nil
}

// torture runs load and faults, heals, waits, and checks.
func (s *system) torture(ctx context.Context, faults []fault) (*report, error) {
	if err := s.start(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	watch := newWatch(s)
	load := &load{s: s, open: watch.openNow}
	loading, stopLoad := context.WithTimeout(ctx, s.o.length)
	defer stopLoad()
	watching, stopWatch := context.WithCancel(ctx)
	defer stopWatch()
	var clients, watchers, faulty sync.WaitGroup
	clients.Go(func() { load.run(loading) })
	watchers.Go(func() { watch.run(watching) })
	x := &executor{s: s, watch: watch, began: began}
	faulty.Go(func() { x.run(loading, faults) })
	faulty.Wait() // also heals what is still broken
	clients.Wait()
	if x.broken != nil {
		return nil, x.broken
	}
	if err := s.startMissing(ctx); err != nil {
		return nil, err
	}
	s.o.say("%s all is well again: waiting for the requests to end", s.at(began))
	late := load.settle(ctx)
	healed := time.Now()
	stopWatch()
	watchers.Wait()

	r := newReport(s.o, x, load, watch)
	r.Settled = healed.Sub(x.healedAt)
	c := &checker{s: s, r: r, load: load, x: x, began: began}
	if late != nil && ctx.Err() != nil {
		return nil, errors.Join(late, context.Cause(ctx))
	}
	return r, c.check(ctx)
}

// at is the time since the beginning, for progress.
func (s *system) at(began time.Time) string {
	return fmt.Sprintf("%7.1fs", time.Since(began).Seconds())
}

// repoDir returns the directory of the module.
func repoDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir != "/" {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		dir = filepath.Dir(dir)
	}
	return "", errors.New("no go.mod above the working directory")
}
