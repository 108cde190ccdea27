package engine

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/ledger"
	"github.com/treadle-run/treadle/schedule/plan"
	"github.com/treadle-run/treadle/schedule/store"
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

// Executor takes the steps of instances. Each change is stored only if the instance is
// as it was when the step started: if it is not, another member was faster, and the step
// is dropped.
type Executor struct {
	store      *store.Store
	apps       *ledger.Apps
	hook       Hook
	clock      *clock
	log        *slog.Logger
	metrics    *metrics
	finisher   *finisher
	member     func() string // the ID of this member
	fetchNow   chan<- struct{}
	poll       time.Duration
	staleAfter time.Duration

	trouble *trouble
	errors  *tally
	unknown *unknown
}

// errDropped says that there is nothing left to do: the instance is not this member's, or
// has changed.
var errDropped = errors.New("dropped")

// Run takes one step with an instance: it claims it, does what can be done now, and
// releases or ends it. After an error it is unknown whether the step was stored: the
// instance may still be this member's.
func (x *Executor) Run(ctx context.Context, in proto.Instance) error {
	err := x.step(ctx, in)
	if errors.Is(err, errDropped) || errors.Is(err, store.ErrNotUpdated) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}

func (x *Executor) step(ctx context.Context, in proto.Instance) error {
	for range maxReloads {
		app, err := x.apps.Get(ctx, in.App)
		if err != nil {
			return err
		}
		err = x.stepAs(ctx, app, in)
		if !errors.Is(err, store.ErrStaleApp) {
			return err
		}
		x.apps.Forget(in.App)
	}
	return errDropped // it is found again
}

func (x *Executor) stepAs(ctx context.Context, app *plan.App, in proto.Instance) error {
	if h, ok := x.hook.(Knower); ok {
		if what := h.Unknown(app.Def, in); what != "" {
			return x.leaveToOthers(ctx, in, what)
		}
	}
	if in.State == proto.InstanceQueued {
		if err := x.prepare(ctx, app, &in); err != nil {
			return err
		}
	}
	claimed, err := x.claim(ctx, app, in)
	if err != nil {
		return err
	}
	w := &work{x: x, app: app, in: claimed}
	return w.run(ctx)
}

// prepare checks whether a queued instance is to run, and can.
func (x *Executor) prepare(ctx context.Context, app *plan.App, in *proto.Instance) error {
	if in.Recurring && app.MakesNext() {
		if err := x.applyPolicy(ctx, app, in); err != nil {
			return err
		}
	}
	ok, reason := x.hook.Ready(ctx, *in)
	if ok {
		return nil
	}
	return x.hold(ctx, *in, reason, readyCheck)
}

// hold has a queued instance looked at again later.
func (x *Executor) hold(ctx context.Context, in proto.Instance, reason string, after time.Duration) error {
	if err := x.store.HoldInstance(ctx, in.InstanceSpecifier, clip(reason), after); err != nil {
		return err
	}
	x.lookAfter(after)
	return errDropped
}

// applyPolicy moves a queued instance to another period, if its own is not to run any
// more.
func (x *Executor) applyPolicy(ctx context.Context, app *plan.App, in *proto.Instance) error {
	now := x.clock.now()
	skips, err := skipsSince(ctx, x.store, app, in.PeriodStart, now)
	if err != nil {
		return err
	}
	to, skipped := app.AtStart(in, now, skips)
	if to == nil {
		return nil
	}
	n := newInstance(app.Instance(*to))
	err = x.store.RescheduleInstance(ctx, in.InstanceSpecifier, app.Generation, *n, skipped.Events(in.App))
	if err != nil {
		return err
	}
	if skipped != nil {
		x.metrics.skipped.Add(float64(skipped.Count))
	}
	if n.Due.After(now) {
		return errDropped
	}
	in.Sequence++
	in.Name, in.PeriodStart, in.PeriodEnd, in.Due, in.Reason = n.Name, n.PeriodStart, n.PeriodEnd, n.Due, ""
	return nil
}

// claim makes the instance this member's.
func (x *Executor) claim(ctx context.Context, app *plan.App, in proto.Instance) (proto.Instance, error) {
	id := x.member()
	fresh := in.State == proto.InstanceQueued
	c := store.Claim{
		Spec: in.InstanceSpecifier, Member: id, Generation: app.Generation,
		// One that was started has the slot already.
		Slot: fresh && app.Overlap() != plan.OverlapAllow, TimeoutAfter: time.Duration(app.Def.Timeout),
	}
	// What the calendar makes goes before what was asked for.
	c.Yields = c.Slot && !in.Recurring && app.MakesNext()
	// What depends on other apps becomes due in any order, and often at once.
	c.InOrder = c.Slot && !in.Recurring && app.Overlap() == plan.OverlapQueue
	if fresh && in.Recurring && app.MakesNext() && app.Overlap() == plan.OverlapAllow {
		next, _ := app.NextInstance(&in, false, x.clock.now(), nil)
		c.Next = newInstance(next)
	}
	takenOver := in.Member != "" && in.Member != id
	if takenOver {
		c.Skipped = []store.AppEvent{{App: in.App, Kind: proto.AppStolen, PeriodStart: in.PeriodStart,
			PeriodTo: in.PeriodStart, Count: 1, Reason: in.Name + " was taken over from " + in.Member}}
	}
	claimed, err := x.store.ClaimInstance(ctx, c)
	if taken, ok := errors.AsType[*store.SlotTakenError](err); ok {
		return claimed, x.hold(ctx, in, plan.ReasonBehind(app, plan.Holder(*taken)), slotCheck)
	}
	if err != nil {
		return claimed, err
	}
	if takenOver {
		x.metrics.takenOver.Inc()
		x.log.Info("instance taken over", "instance", in.Name, "app", in.App, "from", in.Member)
	}
	if fresh && claimed.StartedAt != nil {
		x.metrics.startedAfter(claimed.StartedAt.Sub(claimed.Due))
	}
	return claimed, nil
}

// runAgain takes a step with an instance after a failed one: it first reads whether this
// member has it.
func (x *Executor) runAgain(ctx context.Context, in proto.Instance) error {
	list, err := x.store.PeriodInstances(ctx, in.App, in.PeriodStart, in.PeriodStart.Add(time.Microsecond), 100)
	if err != nil {
		return err
	}
	id := x.member()
	for _, found := range list {
		if found.Number == in.Number && found.Member == id && !found.State.Final() {
			found.Conf = nil
			return x.Run(ctx, found)
		}
	}
	return nil // the member that looks next finds it in the store
}
