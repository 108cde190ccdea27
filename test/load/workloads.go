package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// throughput is W1.
func throughput(ctx context.Context, o options, r *report) error {
	for _, callers := range o.callers {
		s, err := start(ctx, o, specsDir)
		if err != nil {
			return err
		}
		err = s.throughput(ctx, r, callers, o.requests)
		s.stop()
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *system) throughput(ctx context.Context, r *report, callers, requests int) error {
	if err := s.submit(ctx, callers, 200, "three", nil, nil); err != nil { // warm
		return err
	}
	if err := s.await(ctx, "state = 3", 200); err != nil {
		return err
	}
	before := s.usage()
	posts := make([]time.Duration, requests)
	began := time.Now()
	if err := s.submit(ctx, callers, requests, "three", nil, posts); err != nil {
		return err
	}
	posted := time.Since(began)
	if err := s.await(ctx, "state = 3", 200+requests); err != nil {
		return err
	}
	took := time.Since(began)
	r.row(fmt.Sprintf("%d callers", callers), "%.0f requests/s to COMPLETE (%.0f/s posted), POST %s; per request: %s",
		float64(requests)/took.Seconds(), float64(requests)/posted.Seconds(), quantilesOf(posts), s.usage().per(before, requests))
	return nil
}

// submit posts requests from many callers; posts, if not nil, gets the time of
// each.
func (s *system) submit(ctx context.Context, callers, requests int, requestType string, args map[string]any, posts []time.Duration) error {
	body := createBody(requestType, args)
	var (
		next   atomic.Int64
		all    sync.WaitGroup
		failed = make(chan error, callers)
	)
	for range callers {
		all.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= requests {
					return
				}
				began := time.Now()
				if _, err := s.post(ctx, body); err != nil {
					failed <- err
					return
				}
				if posts != nil {
					posts[i] = time.Since(began)
				}
			}
		})
	}
	all.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// latency is W2.
func latency(ctx context.Context, o options, r *report) error {
	s, err := start(ctx, o, specsDir)
	if err != nil {
		return err
	}
	defer s.stop()
	const warm, runs = 50, 300
	body := createBody("three", nil)
	var posts, ends []time.Duration
	for i := range warm + runs {
		began := time.Now()
		id, err := s.post(ctx, body)
		if err != nil {
			return err
		}
		posted := time.Since(began)
		if err := s.awaitState(ctx, id, 3); err != nil {
			return err
		}
		if i >= warm {
			posts, ends = append(posts, posted), append(ends, time.Since(began))
		}
	}
	r.row("POST", "%s", quantilesOf(posts))
	r.row("POST to COMPLETE", "%s", quantilesOf(ends))
	return nil
}

// wide is W3.
func wide(ctx context.Context, o options, r *report) error {
	chainDir, remove, err := lineSpecs(1000)
	if err != nil {
		return err
	}
	defer remove()
	s, err := start(ctx, o, chainDir)
	if err != nil {
		return err
	}
	defer s.stop()
	for _, n := range []int{1000, 10_000, 100_000} {
		if err := s.single(ctx, r, fmt.Sprintf("each over %d", n), "wide", map[string]any{"items": numbers(n)}); err != nil {
			return err
		}
	}
	return s.single(ctx, r, "line of 1000", "line", nil)
}

func (s *system) single(ctx context.Context, r *report, name, requestType string, args map[string]any) error {
	began := time.Now()
	id, err := s.post(ctx, createBody(requestType, args))
	if err != nil {
		return err
	}
	accepted := time.Since(began)
	if err := s.awaitState(ctx, id, 3); err != nil {
		return err
	}
	r.row(name, "accepted in %s, COMPLETE in %s", accepted.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	return nil
}

// resume is W4.
func resume(ctx context.Context, o options, r *report) error {
	s, err := start(ctx, o, specsDir)
	if err != nil {
		return err
	}
	defer s.stop()
	const requests = 200
	if err := s.submit(ctx, 8, requests, "naps", nil, nil); err != nil {
		return err
	}
	if err := s.await(ctx, "state = 2 AND finished_jobs = 1", requests); err != nil {
		return err
	}
	began := time.Now()
	if err := s.jr.End(syscall.SIGTERM); err != nil {
		return err
	}
	if err := s.await(ctx, "state = 7", requests); err != nil {
		return err
	}
	r.row("SIGTERM to all SUSPENDED, runner gone", "%s", time.Since(began).Round(time.Millisecond))
	began = time.Now()
	if err := s.startJR(ctx); err != nil {
		return err
	}
	if err := s.await(ctx, "state = 2", requests); err != nil {
		return err
	}
	r.row("start of the new runner to all RUNNING", "%s", time.Since(began).Round(time.Millisecond))
	return nil
}

// startUp is W6.
func startUp(ctx context.Context, o options, r *report) error {
	dir, remove, err := manySpecs(500, 10)
	if err != nil {
		return err
	}
	defer remove()
	s, err := start(ctx, o, dir)
	if err != nil {
		return err
	}
	defer s.stop()
	r.row("exec to ready (database migrated before)", "%s", s.rmStarted.Round(time.Millisecond))
	r.row("memory at its highest", "%d MiB", status(s.rm, "VmHWM")>>20)
	return nil
}

// memory is W7.
func memory(ctx context.Context, o options, r *report) error {
	s, err := start(ctx, o, specsDir)
	if err != nil {
		return err
	}
	defer s.stop()
	idle := status(s.jr, "VmRSS")
	const chains, jobs = 1000, 100
	if err := s.submit(ctx, 4, chains, "sleepers", map[string]any{"items": numbers(jobs)}, nil); err != nil {
		return err
	}
	// To ask what runs makes a list of 100,000 jobs: that is measured apart.
	if err := s.await(ctx, "state = 2", chains); err != nil {
		return err
	}
	if err := s.awaitQuiet(ctx, s.jr); err != nil {
		return err
	}
	rss, highest := status(s.jr, "VmRSS"), status(s.jr, "VmHWM")
	if err := s.awaitRunning(ctx, chains*jobs); err != nil {
		return err
	}
	r.row("all jobs at the same time", "RSS %d MiB, highest %d MiB (idle %d MiB)", rss>>20, highest>>20, idle>>20)
	r.row("after a list of all that runs", "RSS %d MiB", status(s.jr, "VmRSS")>>20)
	return nil
}
