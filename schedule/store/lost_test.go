package store

import (
	"errors"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/database/databasetest"
	"github.com/treadle-run/treadle/proto"
)

// TestLostAnswers to changes that went through: the call succeeds, and what it does is
// done once.
func TestLostAnswers(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		lose := databasetest.Losing(t, f.db)
		lost := func(what string, err error) {
			t.Helper()
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
		}
		ctx := t.Context()
		f.put(t, hourly("a"))
		spec := f.newestOf(t, "a").InstanceSpecifier
		lose()
		lost("reschedule", f.RescheduleInstance(ctx, spec, 1, period("a", 1), []AppEvent{{App: "a", Kind: proto.AppSkipped, PeriodStart: hour(0)}}))
		lose()
		lost("hold", f.HoldInstance(ctx, f.newestOf(t, "a").InstanceSpecifier, "", time.Second))
		lose()
		in, err := f.ClaimInstance(ctx, Claim{Spec: f.newestOf(t, "a").InstanceSpecifier, Member: "m1", Slot: true, Next: ptr(period("a", 2))})
		lost("claim", err)
		lose()
		spec, err = f.ParkInstance(ctx, in.InstanceSpecifier, Park{})
		lost("park", err)
		lose()
		in, err = f.ClaimInstance(ctx, Claim{Spec: spec, Member: "m1", Generation: 1})
		lost("claim again", err)
		lose()
		in, err = f.MoveInstance(ctx, in.InstanceSpecifier, proto.InstanceToUndo, "")
		lost("move", err)
		lose()
		lost("finish", f.FinishInstance(ctx, Finish{Spec: in.InstanceSpecifier, State: proto.InstanceFailed, Generation: 1,
			Events: []AppEvent{{App: "a", Kind: proto.AppFailed, PeriodStart: hour(1)}}}))
		if n := f.count(t, "schedule_events"); n != 2 {
			t.Errorf("%d events, want 2", n)
		}
		lose()
		made, err := f.ExtraInstances(ctx, "a", []NewInstance{period("a", 2), period("a", -1)}, false)
		lost("extra", err)
		if len(made) != 2 || made[0].Made || !made[1].Made {
			t.Errorf("made: %+v", made)
		}
		must(t, f.AddSignals(ctx, []Signal{{App: "a", PeriodStart: hour(-2)}}))
		lose()
		settled, err := f.SettleSignal(ctx, f.signal(t), ptr(period("a", -2)))
		lost("settle", err)
		if !settled {
			t.Error("the signal made an instance, and its caller does not know")
		}
		f.wantNumbers(t, "a", 4)
		p := hourly("a")
		p.App.Jitter = proto.Seconds(time.Minute)
		p.App.Host, p.DeadlineStart, p.DeadlineAt = "h", ptr(hour(0)), ptr(hour(1))
		lose()
		changed, err := f.PutApp(ctx, p)
		lost("put", err)
		if !changed {
			t.Error("the app changed, and its caller does not know")
		}
		lose()
		lost("deadline", f.MoveDeadline(ctx, "a", hour(0), ptr(hour(1)), ptr(hour(2)), &AppEvent{App: "a", Kind: proto.AppLate}))
		lose()
		lost("pause", f.PauseApp(ctx, "a", true))
		lose()
		lost("delete", f.DeleteApp(ctx, "a", proto.AppFromAPI, 0))
		f.wantNumbers(t, "a", 4)
		if n := f.count(t, "schedule_events"); n != 3 {
			t.Errorf("%d events, want 3", n)
		}
		// What was not lost is still refused.
		if err := f.DeleteApp(ctx, "a", proto.AppFromAPI, 0); !errors.Is(err, ErrNotFound) {
			t.Errorf("deleted twice: %v", err)
		}
	})
}
