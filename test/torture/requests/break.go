package requests

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/test/poll"
	"github.com/treadle-run/treadle/test/torture"
)

// breaker does the faults of a plan to a system.
type breaker struct {
	s     *system
	watch *watch
}

// do does one fault, and heals it.
func (b *breaker) do(ctx context.Context, f torture.Fault) error {
	switch f.Kind {
	case cut, hole, slow:
		return b.breakLink(ctx, f)
	case torture.DBKill, torture.DBStop:
		if err := b.s.db.Break(ctx, f, b.s.o.Say); err != nil {
			return err
		}
		b.watch.followAll(ctx, f.Kind)
		return nil
	}
	svc, err := b.s.service(f.Target)
	if err != nil {
		return err
	}
	if !svc.Claim() {
		return torture.ErrTaken
	}
	defer svc.Release()
	if svc.Ended() {
		return torture.ErrEnded
	}
	switch f.Kind {
	case jrDrain:
		return b.drain(ctx, svc, f)
	case jrStop, rmStop:
		return b.freeze(ctx, svc, f)
	default:
		return b.restart(ctx, svc, f)
	}
}

// restart ends a process and starts it again, after some time.
func (b *breaker) restart(ctx context.Context, svc *service, f torture.Fault) error {
	held := b.watch.held(ctx, svc.baseURL())
	killed := time.Now()
	if f.Kind == jrTerm || f.Kind == rmTerm {
		svc.end()
	} else {
		svc.Kill()
	}
	b.watch.follow(string(f.Kind), killed, held)
	_ = wait.For(ctx, f.Length) // when ctx ends, it is healed early
	if f.Kind == jrMove {
		if err := b.s.moveJR(svc); err != nil {
			return err
		}
	}
	if f.Kind == jrKill {
		b.watch.follow("jr-kill, from its restart", time.Now(), held)
	}
	if err := svc.Start(); err != nil {
		return err
	}
	if svc.verb == requestManager {
		b.watch.followAll(ctx, f.Kind)
	}
	return nil
}

// freeze stops a process and lets it go on.
func (b *breaker) freeze(ctx context.Context, svc *service, f torture.Fault) error {
	if f.Length > b.s.o.leaseEnd() {
		b.watch.follow("jr-stop beyond its lease", time.Now(), b.watch.held(ctx, svc.baseURL()))
	}
	if err := svc.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	_ = wait.For(ctx, f.Length)
	if err := svc.Signal(syscall.SIGCONT); err != nil {
		return err
	}
	b.watch.followAll(ctx, f.Kind)
	return nil
}

// drain drains a runner as an operator does, and ends that.
func (b *breaker) drain(ctx context.Context, jr *service, f torture.Fault) error {
	held := b.watch.held(ctx, jr.baseURL())
	if err := b.s.askDrain(ctx, jr, true); err != nil {
		return err
	}
	b.watch.follow(string(f.Kind), time.Now(), held)
	_ = wait.For(ctx, f.Length)
	// It must not stay drained, whatever else is broken now.
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	return poll.Until(undo, 500*time.Millisecond, func() (bool, error) {
		return b.s.askDrain(undo, jr, false) == nil, nil
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

func (b *breaker) breakLink(ctx context.Context, f torture.Fault) error {
	from, to, _ := strings.Cut(f.Target, ">")
	l := b.s.link(from, to)
	if now, _, _ := l.state(); now != "" {
		return fmt.Errorf("it is broken already: %s", now)
	}
	l.set(f.Kind, f.Delay)
	_ = wait.For(ctx, f.Length)
	l.set("", 0)
	b.watch.followAll(ctx, f.Kind)
	return nil
}
