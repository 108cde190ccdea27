package schedule

import (
	"context"
	"syscall"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/test/torture"
)

// do does one fault of a plan, and heals it.
func (t *test) do(ctx context.Context, f torture.Fault) error {
	switch f.Kind {
	case torture.DBKill, torture.DBStop:
		return t.own.Break(ctx, f, t.o.Say)
	case Shards:
		return t.engine.SetShards(ctx, f.Number)
	case MemberAdd:
		return t.addMember(f.Target).Start()
	}
	m := t.member(f.Target)
	if m == nil {
		return torture.ErrEnded
	}
	if !m.Claim() {
		return torture.ErrTaken
	}
	defer m.Release()
	switch f.Kind {
	case MemberStop:
		return t.freeze(ctx, m, f)
	case MemberKill, MemberLost:
		m.Kill()
	default:
		t.end(m)
	}
	if f.Kind == MemberLeave || f.Kind == MemberLost {
		m.Leave()
		return nil
	}
	_ = wait.For(ctx, f.Length) // when ctx ends, it is healed early
	return m.Start()
}

// freeze stops a member and lets it go on.
func (t *test) freeze(ctx context.Context, m *torture.Service, f torture.Fault) error {
	if err := m.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	thaw := t.audit.Freeze(m.Process())
	_ = wait.For(ctx, f.Length)
	thaw()
	return m.Signal(syscall.SIGCONT)
}

// keep starts again what has ended by itself, which it must not, until ctx ends.
func (t *test) keep(ctx context.Context) {
	torture.Keep(ctx, t.o.Scale/2, t.all, func(m *torture.Service) {
		t.found.Add("end of a member", "%s ended by itself, exit code %d", m.Process(), m.ExitCode())
	}, t.o.Say)
}
