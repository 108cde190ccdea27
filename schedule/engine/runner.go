package engine

import (
	"context"
	"errors"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

const (
	// slotCheck is when an instance looks again whether the other one of its app has
	// ended, if that does not wake it.
	slotCheck = 5 * time.Second
	// readyCheck is the same for one that waits for its host.
	readyCheck = 30 * time.Second
	// maxReloads is how often a step is taken again since its app changed meanwhile.
	maxReloads = 10
)

// Runner takes the steps of instances. Each change is stored only if the instance is
// as it was when the step began: if it is not, somebody else was faster, and the step
// is dropped.
type Runner struct {
	e       *Engine
	trouble *trouble
	errors  *tally
	unknown *unknown
}

func newRunner(e *Engine) *Runner {
	return &Runner{e: e, errors: newTally(), unknown: newUnknown(e.log), trouble: &trouble{log: e.log, msg: "storing steps of instances"}}
}

// errDropped says that there is nothing left to do: the instance is not ours, or not
// what it was.
var errDropped = errors.New("dropped")

// Run takes one step with an instance: it claims it, does what is to do now, and
// gives it up or ends it. An error says that what was to be stored may be stored or
// not: the instance may still be this member's.
func (r *Runner) Run(ctx context.Context, in proto.Instance) error {
	err := r.step(ctx, in)
	if errors.Is(err, errDropped) || errors.Is(err, store.ErrNotUpdated) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

func (r *Runner) step(ctx context.Context, in proto.Instance) error {
	for range maxReloads {
		job, err := r.e.jobs.get(ctx, in.App)
		if err != nil {
			return err
		}
		err = r.stepAs(ctx, job, in)
		if !errors.Is(err, store.ErrStaleApp) {
			return err
		}
		r.e.jobs.forget(in.App)
	}
	return errDropped // it is found again
}

func (r *Runner) stepAs(ctx context.Context, job *Job, in proto.Instance) error {
	if h, ok := r.e.cfg.Hook.(Knower); ok {
		if what := h.Unknown(job.App, in); what != "" {
			return r.leaveToOthers(ctx, in, what)
		}
	}
	if in.State == proto.InstanceQueued {
		if err := r.prepare(ctx, job, &in); err != nil {
			return err
		}
	}
	claimed, err := r.claim(ctx, job, in)
	if err != nil {
		return err
	}
	w := &work{r: r, job: job, in: claimed}
	return w.run(ctx)
}

// prepare looks whether a queued instance is to run, and can.
func (r *Runner) prepare(ctx context.Context, job *Job, in *proto.Instance) error {
	if in.Recurring && job.makesNext() {
		if err := r.applyPolicy(ctx, job, in); err != nil {
			return err
		}
	}
	ok, reason := r.e.cfg.Hook.Ready(ctx, *in)
	if ok {
		return nil
	}
	return r.hold(ctx, *in, reason, readyCheck)
}

// hold has a queued instance looked at again later.
func (r *Runner) hold(ctx context.Context, in proto.Instance, reason string, after time.Duration) error {
	if err := r.e.store.HoldInstance(ctx, in.InstanceSpecifier, clip(reason), after); err != nil {
		return err
	}
	r.e.lookAfter(after)
	return errDropped
}

// applyPolicy makes a queued instance that of another period, if its own is not to
// run any more.
func (r *Runner) applyPolicy(ctx context.Context, job *Job, in *proto.Instance) error {
	now := r.e.clock.now()
	skips, err := r.e.skipsSince(ctx, job, in.PeriodStart, now)
	if err != nil {
		return err
	}
	to, gone := job.atStart(in, now, skips)
	if to == nil {
		return nil
	}
	n := job.instance(*to)
	err = r.e.store.RescheduleInstance(ctx, in.InstanceSpecifier, job.Generation, *n, gone.events(in.App))
	if err != nil {
		return err
	}
	if gone != nil {
		r.e.metrics.skipped.Add(float64(gone.count))
	}
	if n.Due.After(now) {
		return errDropped
	}
	in.Sequence++
	in.Name, in.PeriodStart, in.PeriodEnd, in.Due, in.Reason = n.Name, n.PeriodStart, n.PeriodEnd, n.Due, ""
	return nil
}

// claim makes the instance this member's.
func (r *Runner) claim(ctx context.Context, job *Job, in proto.Instance) (proto.Instance, error) {
	id, _ := r.e.member.mine()
	fresh := in.State == proto.InstanceQueued
	c := store.Claim{
		Spec: in.InstanceSpecifier, Member: id, Generation: job.Generation,
		// One that was begun has the slot already.
		Slot: fresh && job.overlap() != overlapAllow, TimeoutAfter: time.Duration(job.App.Timeout),
	}
	// What the calendar makes goes before what was asked for.
	c.Yields = c.Slot && !in.Recurring && job.makesNext()
	if fresh && in.Recurring && job.makesNext() && job.overlap() == overlapAllow {
		c.Next, _ = job.next(&in, false, r.e.clock.now(), nil)
	}
	stolen := in.Member != "" && in.Member != id
	if stolen {
		c.Skipped = []store.AppEvent{{App: in.App, Kind: proto.AppStolen, PeriodStart: in.PeriodStart,
			PeriodTo: in.PeriodStart, Count: 1, Reason: in.Name + " was taken over from " + in.Member}}
	}
	claimed, err := r.e.store.ClaimInstance(ctx, c)
	if taken, ok := errors.AsType[*store.SlotTakenError](err); ok {
		return claimed, r.hold(ctx, in, reasonBehind(job, taken), slotCheck)
	}
	if err != nil {
		return claimed, err
	}
	if stolen {
		r.e.metrics.stolen.Inc()
		r.e.log.Info("instance taken over", "instance", in.Name, "app", in.App, "from", in.Member)
	}
	if fresh && claimed.StartedAt != nil {
		r.e.metrics.startedAfter(claimed.StartedAt.Sub(claimed.Due))
	}
	return claimed, nil
}

// runAgain takes a step with an instance of which it is not known any more whether
// this member has it: it looks first.
func (r *Runner) runAgain(ctx context.Context, in proto.Instance) error {
	list, err := r.e.store.PeriodInstances(ctx, in.App, in.PeriodStart, in.PeriodStart.Add(time.Microsecond), 100)
	if err != nil {
		return err
	}
	id, _ := r.e.member.mine()
	for _, found := range list {
		if found.Number == in.Number && found.Member == id && !found.State.Final() {
			found.Conf = nil
			return r.Run(ctx, found)
		}
	}
	return nil // it is in the store for whoever looks next
}
