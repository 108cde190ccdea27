package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"syscall"
	"time"
)

// executor does the faults of a plan.
type executor struct {
	s     *system
	watch *watch
	began time.Time

	running  sync.WaitGroup
	healedAt time.Time // when the last fault was over

	mu    sync.Mutex
	done  []event
	dbUse bool // a fault has the database
	// broken says why the test cannot go on.
	broken error
}

// restartTries is how often a server of the database is started again.
const restartTries = 3

// Why a fault is not done.
var (
	errTaken = errors.New("another fault has it")
	errEnded = errors.New("it has ended")
)

// event is a fault that was done, or why it was not.
type event struct {
	fault
	Began   time.Time `json:"began"`
	Ended   time.Time `json:"ended"`
	Skipped string    `json:"skipped,omitempty"`
}

// run does faults at their times until ctx ends, and heals everything before it
// returns.
func (x *executor) run(ctx context.Context, faults []fault) {
	x.running.Go(func() { x.keep(ctx) })
	for _, f := range faults {
		if !pause(ctx, time.Until(x.began.Add(f.At))) {
			break
		}
		x.running.Go(func() { x.do(ctx, f) })
	}
	<-ctx.Done()
	x.running.Wait()
	x.healedAt = time.Now()
}

// pause waits; false if ctx ended before.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// do does one fault from its beginning to its end.
func (x *executor) do(ctx context.Context, f fault) {
	e := event{fault: f, Began: time.Now()}
	x.s.o.say("%s", f)
	err := x.apply(ctx, f)
	e.Ended = time.Now()
	if err != nil {
		e.Skipped = err.Error()
		x.s.o.say("%s %s %s: not done: %v", x.s.at(x.began), f.Kind, f.Target, err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.done = append(x.done, e)
}

func (x *executor) apply(ctx context.Context, f fault) error {
	switch f.Kind {
	case cut, hole, slow:
		return x.breakLink(ctx, f)
	case dbKill, dbStop:
		return x.breakDB(ctx, f)
	}
	svc := x.s.service(f.Target)
	if !svc.claim() {
		return errTaken
	}
	defer svc.release()
	if svc.ended() {
		return errEnded
	}
	switch f.Kind {
	case jrDrain:
		return x.drain(ctx, svc, f)
	case jrStop, rmStop:
		return x.freeze(ctx, svc, f)
	default:
		return x.restart(ctx, svc, f)
	}
}

// restart ends a process and starts it again, after some time.
func (x *executor) restart(ctx context.Context, svc *service, f fault) error {
	held := x.watch.held(ctx, svc.baseURL())
	killed := time.Now()
	sig := syscall.SIGKILL
	if f.Kind == jrTerm || f.Kind == rmTerm {
		sig = syscall.SIGTERM
	}
	svc.end(sig)
	x.watch.follow(string(f.Kind), killed, held)
	pause(ctx, f.Length)
	if f.Kind == jrMove {
		if err := x.s.moveJR(svc); err != nil {
			return err
		}
	}
	if f.Kind == jrKill {
		x.watch.follow("jr-kill, from its restart", time.Now(), held)
	}
	if err := svc.start(); err != nil {
		return err
	}
	if svc.verb == "request-manager" {
		x.watch.followAll(ctx, f.Kind)
	}
	return nil
}

// freeze stops a process and lets it go on.
func (x *executor) freeze(ctx context.Context, svc *service, f fault) error {
	if f.Length > x.s.o.leaseEnd() {
		x.watch.follow("jr-stop beyond its lease", time.Now(), x.watch.held(ctx, svc.baseURL()))
	}
	if err := svc.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	pause(ctx, f.Length)
	if err := svc.signal(syscall.SIGCONT); err != nil {
		return err
	}
	x.watch.followAll(ctx, f.Kind)
	return nil
}

// drain drains a runner as an operator does, and ends that.
func (x *executor) drain(ctx context.Context, jr *service, f fault) error {
	held := x.watch.held(ctx, jr.baseURL())
	if err := x.s.askDrain(ctx, jr, true); err != nil {
		return err
	}
	x.watch.follow(string(f.Kind), time.Now(), held)
	pause(ctx, f.Length)
	// It must not stay drained, whatever else is broken now.
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return poll(undo, 500*time.Millisecond, func() (bool, error) {
		return x.s.askDrain(undo, jr, false) == nil, nil
	})
}

// askDrain asks any manager; a runner that is not known any more does not need it.
func (s *system) askDrain(ctx context.Context, jr *service, on bool) error {
	path := fmt.Sprintf("/api/v1/job-runners/%s/drain?on=%v", url.PathEscape(jr.baseURL()), on)
	var err error
	for _, rm := range s.rms {
		var status int
		if status, _, err = s.call(ctx, http.MethodPut, rm.baseURL()+path, "", nil); err == nil {
			if status == http.StatusOK || status == http.StatusNotFound && !on {
				return nil
			}
			err = fmt.Errorf("PUT %s: status %d", path, status)
		}
	}
	return err
}

func (x *executor) breakLink(ctx context.Context, f fault) error {
	from, to, _ := strings.Cut(f.Target, ">")
	l := x.s.link(from, to)
	if now, _, _ := l.state(); now != "" {
		return fmt.Errorf("it is broken already: %s", now)
	}
	l.set(f.Kind, f.Delay)
	pause(ctx, f.Length)
	l.set("", 0)
	x.watch.followAll(ctx, f.Kind)
	return nil
}

func (x *executor) breakDB(ctx context.Context, f fault) error {
	if !x.claimDB() {
		return errTaken
	}
	defer x.releaseDB()
	server := x.s.db.target(f.Target)
	if f.Kind == dbStop {
		if err := server.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		pause(ctx, f.Length)
		if err := server.Signal(syscall.SIGCONT); err != nil {
			return err
		}
	} else {
		server.Kill9()
		pause(ctx, f.Length)
		if err := x.restartDB(ctx, server); err != nil {
			return err
		}
	}
	x.watch.followAll(ctx, f.Kind)
	return nil
}

// restartDB starts a server again; a node of a cluster that is busy may need more
// than one try.
func (x *executor) restartDB(ctx context.Context, s server) error {
	var err error
	for range restartTries {
		if err = s.Restart(context.WithoutCancel(ctx)); err == nil {
			return nil
		}
		x.s.o.say("%s the database does not start: %.200s", x.s.at(x.began), err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.broken = fmt.Errorf("the database does not start: %w", err)
	return x.broken
}

// claimDB takes the database, that is all its servers, for a fault: a cluster that
// loses two of three has lost its majority for good.
func (x *executor) claimDB() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.dbUse {
		return false
	}
	x.dbUse = true
	return true
}

func (x *executor) releaseDB() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.dbUse = false
}

// keep starts again what ended by itself, as the system that runs a service does.
// A manager ends if it finds no database when it starts; all else is a violation,
// see checkLogs.
func (x *executor) keep(ctx context.Context) {
	for pause(ctx, 500*time.Millisecond) {
		for _, svc := range append(append([]*service(nil), x.s.rms...), x.s.jrs...) {
			if !svc.died() || !svc.claim() {
				continue
			}
			x.s.o.say("%s %s has ended by itself, exit code %d; started again", x.s.at(x.began), svc.name, svc.process().ExitCode())
			if err := svc.start(); err != nil {
				x.s.o.say("%v", err)
			}
			svc.release()
		}
	}
}

func (s *system) service(name string) *service {
	for _, x := range append(append([]*service(nil), s.rms...), s.jrs...) {
		if x.name == name {
			return x
		}
	}
	panic("faults: no service " + name)
}

// link returns the link of that name, making it if it is new.
func (s *system) link(from, to string) *link {
	name := linkName(from, to)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.links[name] == nil {
		s.links[name] = newLink(from, to)
	}
	return s.links[name]
}
