package torture

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"
)

// Why a fault is not done.
var (
	errTaken = errors.New("another fault has it")
	errEnded = errors.New("it is not there")
)

// restartTries is how often a server of the database is started again.
const restartTries = 3

// executor does the faults of a plan.
type executor struct {
	t       *test
	began   time.Time
	running sync.WaitGroup

	mu     sync.Mutex
	done   map[Kind]int
	missed int   // faults that were not done
	db     bool  // a fault has the database
	broken error // why the test cannot go on
}

// run does the faults at their times until ctx ends, and heals what is broken before
// it returns.
func (x *executor) run(ctx context.Context, faults []Fault) {
	for _, f := range faults {
		if !pause(ctx, time.Until(x.began.Add(f.At))) {
			break
		}
		x.running.Go(func() {
			err := x.do(ctx, f)
			x.mu.Lock()
			defer x.mu.Unlock()
			if err != nil {
				x.missed++
				x.t.say("%s: not done: %v", f, err)
				return
			}
			x.done[f.Kind]++
		})
	}
	<-ctx.Done()
	x.running.Wait()
}

// pause waits; false if ctx ended before.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (x *executor) do(ctx context.Context, f Fault) error {
	x.t.say("%s", f)
	switch f.Kind {
	case DBKill, DBStop:
		return x.breakDB(ctx, f)
	case Shards:
		return x.t.engine.SetShards(ctx, f.Number)
	case MemberAdd:
		return x.t.addMember(f.Member).begin()
	}
	m := x.t.member(f.Member)
	if m == nil {
		return errEnded
	}
	if !m.claim() {
		return errTaken
	}
	defer m.release()
	return x.breakMember(ctx, m, f)
}

func (x *executor) breakMember(ctx context.Context, m *member, f Fault) error {
	switch f.Kind {
	case MemberStop:
		if err := m.freeze(); err != nil {
			return err
		}
		pause(ctx, f.Length)
		return m.thawed()
	case MemberKill, MemberLost:
		m.kill()
	default:
		m.end()
	}
	if f.Kind == MemberLeave || f.Kind == MemberLost {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.left = true
		return nil
	}
	pause(ctx, f.Length)
	return m.begin()
}

func (x *executor) breakDB(ctx context.Context, f Fault) error {
	if !x.claimDB(true) {
		return errTaken
	}
	defer x.claimDB(false)
	server := x.t.o.Servers[f.Number]
	if f.Kind == DBStop {
		if err := server.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		pause(ctx, f.Length)
		return server.Signal(syscall.SIGCONT)
	}
	server.Kill9()
	pause(ctx, f.Length)
	return x.restartDB(ctx, server)
}

// restartDB starts a server again; a node of a cluster that is busy may need more than
// one try.
func (x *executor) restartDB(ctx context.Context, s Server) error {
	var err error
	for range restartTries {
		if err = s.Restart(context.WithoutCancel(ctx)); err == nil {
			return nil
		}
		x.t.say("the database does not start: %.200s", err)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.broken = fmt.Errorf("the database does not start: %w", err)
	return x.broken
}

// claimDB takes all servers of the database for a fault, since a cluster that loses two
// of three is lost; or gives them back.
func (x *executor) claimDB(take bool) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if take && x.db {
		return false
	}
	x.db = take
	return true
}

// keep starts again what has ended by itself, which it must not, until ctx ends.
func (x *executor) keep(ctx context.Context) {
	for pause(ctx, x.t.o.Scale/2) {
		for _, m := range x.t.all() {
			process, code, died := m.died()
			if !died {
				continue
			}
			x.t.audit.Violation("end of a member", "%s ended by itself, exit code %d", process, code)
			if err := m.begin(); err != nil {
				x.t.say("%v", err)
			}
		}
	}
}
