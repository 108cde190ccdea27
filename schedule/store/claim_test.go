package store

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/proto"
)

func TestAnInstanceFromDueToArchive(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.put(t, hourly("counter"))
		if d := cmp.Diff([]string{}, f.due(t)); d != "" {
			t.Errorf("due before its hour: %s", d)
		}
		f.toHour(0)
		if d := cmp.Diff([]string{"counter/1"}, f.due(t)); d != "" {
			t.Errorf("due: %s", d)
		}
		next := period("counter", 1)
		in, err := f.ClaimInstance(t.Context(), Claim{Spec: proto.InstanceSpecifier{App: "counter", Number: 1, Sequence: 1},
			Member: "m1", Slot: true, TimeoutAfter: time.Minute, Generation: 1})
		must(t, err)
		want := proto.Instance{
			InstanceSpecifier: proto.InstanceSpecifier{App: "counter", Number: 1, Sequence: 2, Member: "m1"},
			Name:              "2026-03-04-0600-counter", State: proto.InstanceRunning, PeriodStart: hour(0), PeriodEnd: hour(1),
			Due: hour(0), StartedAt: ptr(hour(0)), TimeoutAt: ptr(hour(0).Add(time.Minute)), Recurring: true,
		}
		if d := cmp.Diff(want, in); d != "" {
			t.Errorf("claimed (-want, +got):\n%s", d)
		}
		if got := f.due(t); len(got) != 0 {
			t.Errorf("due while it is claimed: %v", got)
		}
		f.clock.Add(time.Second)
		must(t, f.FinishInstance(t.Context(), Finish{Spec: in.InstanceSpecifier, State: proto.InstanceSucceeded,
			Result: []byte(`{"n":1}`), Generation: 1, Next: &next}))
		last, err := f.LastInstance(t.Context(), "counter")
		must(t, err)
		want.Sequence, want.State, want.FinishedAt, want.Result = 3, proto.InstanceSucceeded, ptr(hour(0).Add(time.Second)), []byte(`{"n":1}`)
		if d := cmp.Diff(want, last); d != "" {
			t.Errorf("archived (-want, +got):\n%s", d)
		}
		app, err := f.App(t.Context(), "counter")
		must(t, err)
		if app.ActiveNumber != 0 || app.LastNumber != 2 {
			t.Errorf("the app has active number %d and last number %d, want 0 and 2", app.ActiveNumber, app.LastNumber)
		}
		f.toHour(1)
		if d := cmp.Diff([]string{"counter/2"}, f.due(t)); d != "" {
			t.Errorf("due in the next hour: %s", d)
		}
		f.wantNumbers(t, "counter", 2)
	})
}

func ptr[T any](x T) *T { return &x }

func TestClaimsThatAreRefused(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.put(t, hourly("a"))
		spec := f.newestOf(t, "a").InstanceSpecifier
		old, other := spec, spec
		old.Sequence--
		other.Member = "m9"
		for name, c := range map[string]struct {
			claim Claim
			want  error
		}{
			"another sequence":   {Claim{Spec: old, Member: "m1"}, ErrNotUpdated},
			"another member":     {Claim{Spec: other, Member: "m1"}, ErrNotUpdated},
			"another generation": {Claim{Spec: spec, Member: "m1", Generation: 2}, ErrStaleApp},
			"and with the slot":  {Claim{Spec: spec, Member: "m1", Generation: 2, Slot: true}, ErrStaleApp},
		} {
			if _, err := f.ClaimInstance(t.Context(), c.claim); !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", name, err, c.want)
			}
		}
		if in := f.newestOf(t, "a"); in.Sequence != 1 || in.State != proto.InstanceQueued {
			t.Errorf("the instance has changed: %+v", in)
		}
	})
}

func TestTheSlotOfAnApp(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.put(t, hourly("a"))
		f.toHour(3)
		first := f.claimed(t, "a", "m1")
		_, err := f.ExtraInstances(t.Context(), "a", []NewInstance{period("a", 2), period("a", 1)}, false)
		must(t, err)
		for number := uint64(2); number <= 3; number++ {
			spec := proto.InstanceSpecifier{App: "a", Number: number, Sequence: 1}
			_, err = f.ClaimInstance(t.Context(), Claim{Spec: spec, Member: "m2", Slot: true})
			taken, ok := errors.AsType[*SlotTakenError](err)
			if !ok || taken.Number != 1 {
				t.Errorf("claim while 1 runs: %v", err)
			}
			must(t, f.HoldInstance(t.Context(), spec, "waits for instance 1", time.Hour))
			if err := f.HoldInstance(t.Context(), spec, "", 0); !errors.Is(err, ErrNotUpdated) {
				t.Errorf("held twice: %v", err)
			}
		}
		if got := f.due(t); len(got) != 0 {
			t.Errorf("due while 1 runs: %v", got)
		}
		must(t, f.FinishInstance(t.Context(), Finish{Spec: first.InstanceSpecifier, State: proto.InstanceFailed}))
		if d := cmp.Diff([]string{"a/3"}, f.due(t)); d != "" { // of the earlier period
			t.Errorf("due when 1 has ended: %s", d)
		}
		f.claimed(t, "a", "m2")
		app, err := f.App(t.Context(), "a")
		must(t, err)
		if app.ActiveNumber != 3 {
			t.Errorf("instance %d has the slot, want 3", app.ActiveNumber)
		}
		f.goesOnWithoutTheSlot(t, 3)
	})
}

// goesOnWithoutTheSlot starts an instance of a without the slot, as if its app had
// allowed that then, and takes it up again while another one has the slot.
func (f *fixture) goesOnWithoutTheSlot(t *testing.T, slot uint64) {
	t.Helper()
	_, err := f.ExtraInstances(t.Context(), "a", []NewInstance{period("a", -5)}, false)
	must(t, err)
	in, err := f.ClaimInstance(t.Context(), Claim{Spec: f.newestOf(t, "a").InstanceSpecifier, Member: "m3"})
	must(t, err)
	spec, err := f.ParkInstance(t.Context(), in.InstanceSpecifier, Park{})
	must(t, err)
	in, err = f.ClaimInstance(t.Context(), Claim{Spec: spec, Member: "m3", Slot: true, Generation: 1})
	must(t, err)
	must(t, f.FinishInstance(t.Context(), Finish{Spec: in.InstanceSpecifier, State: proto.InstanceSucceeded}))
	app, err := f.App(t.Context(), "a")
	must(t, err)
	if app.ActiveNumber != slot {
		t.Errorf("instance %d has the slot, want %d", app.ActiveNumber, slot)
	}
}

func TestOverlapMakesTheNextInstanceAtTheStart(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.put(t, hourly("a"))
		next := period("a", 1)
		in, err := f.ClaimInstance(t.Context(), Claim{Spec: f.newestOf(t, "a").InstanceSpecifier, Member: "m1", Generation: 1, Next: &next,
			Skipped: []AppEvent{{App: "a", Kind: proto.AppSkipped, PeriodStart: hour(-3), PeriodTo: hour(-1), Count: 3}}})
		must(t, err)
		f.wantNumbers(t, "a", 2)
		// The end makes no second one, even if it is told to.
		must(t, f.FinishInstance(t.Context(), Finish{Spec: in.InstanceSpecifier, State: proto.InstanceSucceeded, Next: ptr(period("a", 2))}))
		f.wantNumbers(t, "a", 2)
		if got := f.newestOf(t, "a"); !got.PeriodStart.Equal(hour(1)) {
			t.Errorf("the next period starts at %s", got.PeriodStart)
		}
		events, err := f.SkippedIn(t.Context(), "a", hour(-2), hour(-1))
		must(t, err)
		if len(events) != 1 || events[0].Count != 3 {
			t.Errorf("skipped: %+v", events)
		}
	})
}

func TestParkedUntilItsRequestEnds(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.put(t, hourly("a"))
		f.toHour(0)
		request := f.create(t)
		in := f.claimed(t, "a", "m1")
		spec, err := f.ParkInstance(t.Context(), in.InstanceSpecifier, Park{CheckAfter: time.Minute, RequestID: request, WaitsFor: request, Reason: "runs"})
		must(t, err)
		if _, err := f.ParkInstance(t.Context(), in.InstanceSpecifier, Park{}); !errors.Is(err, ErrNotUpdated) {
			t.Errorf("parked twice: %v", err)
		}
		got := f.newestOf(t, "a")
		if got.InstanceSpecifier != spec || got.RequestID != request || got.WaitsFor != request || got.Reason != "runs" || got.State != proto.InstanceRunning {
			t.Errorf("parked: %+v", got)
		}
		if due := f.due(t); len(due) != 0 {
			t.Errorf("due while its request runs: %v", due)
		}
		must(t, f.requests.FailPending(t.Context(), request, ""))
		settled, err := f.SettledInstances(t.Context(), 10)
		must(t, err)
		if len(settled) != 1 || settled[0].InstanceSpecifier != spec {
			t.Errorf("settled: %+v", settled)
		}
		n, err := f.WakeInstances(t.Context(), []string{newID(), request})
		must(t, err)
		if due := f.due(t); n != 1 || len(due) != 1 {
			t.Errorf("%d woken, due: %v", n, due)
		}
		// One that parks after its request has ended is looked at again at once.
		in, err = f.ClaimInstance(t.Context(), Claim{Spec: spec, Member: "m2"})
		must(t, err)
		if in.State != proto.InstanceRunning || in.WaitsFor != "" {
			t.Errorf("taken up again: %+v", in)
		}
		_, err = f.ParkInstance(t.Context(), in.InstanceSpecifier, Park{CheckAfter: time.Minute, WaitsFor: request})
		must(t, err)
		if due := f.due(t); len(due) != 1 {
			t.Errorf("due after it was parked too late: %v", due)
		}
	})
}

func TestUndoSteps(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.put(t, hourly("a"))
		in := f.claimed(t, "a", "m1")
		if _, err := f.MoveInstance(t.Context(), in.InstanceSpecifier, proto.InstanceUndoing, ""); !errors.Is(err, ErrNotUpdated) {
			t.Errorf("moved from RUNNING to UNDOING: %v", err)
		}
		in, err := f.MoveInstance(t.Context(), in.InstanceSpecifier, proto.InstanceToUndo, "it broke")
		must(t, err)
		if err := f.FinishInstance(t.Context(), Finish{Spec: in.InstanceSpecifier, State: proto.InstanceSucceeded}); !errors.Is(err, ErrNotUpdated) {
			t.Errorf("SUCCEEDED from TO_UNDO: %v", err)
		}
		in, err = f.MoveInstance(t.Context(), in.InstanceSpecifier, proto.InstanceUndoing, "")
		must(t, err)
		spec, err := f.ParkInstance(t.Context(), in.InstanceSpecifier, Park{Reason: "it broke", State: proto.InstanceToUndo, UndoTries: 1})
		must(t, err)
		in, err = f.ClaimInstance(t.Context(), Claim{Spec: spec, Member: "m2"})
		must(t, err)
		if in.State != proto.InstanceToUndo || in.UndoTries != 1 || in.Reason != "it broke" {
			t.Errorf("after an undo that failed: %+v", in)
		}
		in, err = f.MoveInstance(t.Context(), in.InstanceSpecifier, proto.InstanceUndoing, "")
		must(t, err)
		must(t, f.FinishInstance(t.Context(), Finish{Spec: in.InstanceSpecifier, State: proto.InstanceFailed}))
		last, err := f.LastInstance(t.Context(), "a")
		must(t, err)
		if last.State != proto.InstanceFailed || last.Reason != "it broke" {
			t.Errorf("the end: %+v", last)
		}
	})
}

func TestAHostThatComesUp(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for _, app := range []string{"a", "b"} {
			p := hourly(app)
			p.First.Host = "h1"
			f.put(t, p)
		}
		f.toHour(0)
		must(t, f.HoldInstance(t.Context(), f.newestOf(t, "a").InstanceSpecifier, "no runner on h1", time.Hour))
		n, err := f.WakeHost(t.Context(), "h2")
		must(t, err)
		if due := f.due(t); n != 0 || len(due) != 1 {
			t.Errorf("another host woke %d; due: %v", n, due)
		}
		n, err = f.WakeHost(t.Context(), "h1")
		must(t, err)
		if due := f.due(t); n != 1 || len(due) != 2 {
			t.Errorf("its host woke %d; due: %v", n, due)
		}
	})
}
