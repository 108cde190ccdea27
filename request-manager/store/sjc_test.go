package store

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
)

func TestSuspendClaimResume(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx, id := t.Context(), f.running(t)
		body := `{"requestId":"` + id + `","entries":4}`
		if err := f.Suspend(ctx, id, 0, time.Time{}, []byte(body), false, ""); !errors.Is(err, ErrNotUpdated) {
			t.Errorf("suspended under another epoch: %v", err)
		}
		must(t, f.Suspend(ctx, id, 1, time.Time{}, []byte(body), false, "its runner is lost"))
		if r := f.wantState(t, id, proto.StateSuspended, 1); r.Reason != "its runner is lost" {
			t.Errorf("suspended request %+v", r)
		}
		if err := f.Resume(ctx, id, 1, "rm-1", "jr-2", "http://jr-2"); !errors.Is(err, ErrNotUpdated) {
			t.Errorf("resumed without a claim: %v", err)
		}
		f.wantState(t, id, proto.StateSuspended, 1)

		ids, err := f.UnclaimedSJCs(ctx, time.Hour, 10)
		must(t, err)
		if !slices.Equal(ids, []UnclaimedSJC{{RequestID: id}}) {
			t.Errorf("unclaimed %v, want %s", ids, id)
		}
		sjc, err := f.ClaimSJC(ctx, id, "rm-1")
		must(t, err)
		if sjc.RequestID != id || sjc.Epoch != 1 || string(sjc.Body) != body {
			t.Errorf("claimed %+v", sjc)
		}
		for name, err := range map[string]error{
			"claimed twice":                 second(f.ClaimSJC(ctx, id, "rm-1")),
			"claimed by another":            second(f.ClaimSJC(ctx, id, "rm-2")),
			"unclaimed by another":          f.UnclaimSJC(ctx, id, "rm-2"),
			"resumed by another":            f.Resume(ctx, id, 1, "rm-2", "jr-2", ""),
			"resumed under another epoch":   f.Resume(ctx, id, 0, "rm-1", "jr-2", ""),
			"claimed what is not suspended": second(f.ClaimSJC(ctx, f.running(t), "rm-1")),
		} {
			if !errors.Is(err, ErrNotUpdated) {
				t.Errorf("%s: error %v, want ErrNotUpdated", name, err)
			}
		}
		must(t, f.UnclaimSJC(ctx, id, "rm-1"))
		_, err = f.ClaimSJC(ctx, id, "rm-2")
		must(t, err)
		must(t, f.Resume(ctx, id, 1, "rm-2", "jr-2", "http://jr-2"))
		if r := f.wantState(t, id, proto.StateRunning, 2); r.JobRunnerURL != "http://jr-2" || r.Reason != "" {
			t.Errorf("resumed request %+v", r)
		}
		f.report(t, proto.ReportItem{RequestID: id, Epoch: 2, Final: proto.StateComplete})
	})
}

func second[T any](_ T, err error) error { return err }

func TestSuspendOfARequestToBeStopped(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		id := f.running(t)
		_, err := f.Stop(t.Context(), id)
		must(t, err)
		must(t, f.Suspend(t.Context(), id, 1, time.Time{}, []byte("{}"), false, "lost"))
		if r := f.wantState(t, id, proto.StateStopped, 1); r.Reason != stopReason {
			t.Errorf("request %+v", r)
		}
	})
}

func TestStopTakesAClaimedChainAway(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		id := f.suspended(t)
		_, err := f.ClaimSJC(t.Context(), id, "rm-1")
		must(t, err)
		_, err = f.Stop(t.Context(), id)
		must(t, err)
		if err := f.Resume(t.Context(), id, 1, "rm-1", "jr-2", ""); !errors.Is(err, ErrNotUpdated) {
			t.Errorf("resumed a stopped request: %v", err)
		}
		f.wantState(t, id, proto.StateStopped, 1)
	})
}

func TestOldClaimsAreDropped(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		dead, live := f.suspended(t), f.suspended(t)
		_, err := f.ClaimSJC(t.Context(), dead, "rm-1")
		must(t, err)
		f.clock.Add(4 * time.Minute)
		_, err = f.ClaimSJC(t.Context(), live, "rm-2")
		must(t, err)
		f.clock.Add(2 * time.Minute)
		n, err := f.DropOldClaims(t.Context(), 5*time.Minute)
		must(t, err)
		ids, err := f.UnclaimedSJCs(t.Context(), time.Hour, 10)
		must(t, err)
		if n != 1 || !slices.Equal(ids, []UnclaimedSJC{{RequestID: dead}}) {
			t.Errorf("dropped %d, unclaimed %v, want %s", n, ids, dead)
		}
	})
}

func TestSuspendedTooLong(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		old, claimed := f.suspended(t), f.suspended(t)
		_, err := f.ClaimSJC(t.Context(), claimed, "rm-1")
		must(t, err)
		// A chain whose request is not SUSPENDED is in nobody's way.
		orphan := f.running(t)
		_, err = f.db.Writer.ExecContext(t.Context(), `INSERT INTO suspended_job_chains (request_id, suspended_at, updated_at, sjc)
			VALUES (?, 1, 1, 'x')`, orphan)
		must(t, err)
		f.clock.Add(time.Hour)
		young := f.suspended(t)
		f.clock.Add(time.Second)
		ids, err := f.ExpireSJCs(t.Context(), time.Hour+300*time.Millisecond)
		must(t, err)
		if !slices.Equal(ids, []string{old}) {
			t.Errorf("expired %v, want %s", ids, old)
		}
		r := f.wantState(t, old, proto.StateFail, 1)
		if r.Reason != "suspended for longer than 1h0m0s: no job runner took it" || !r.FinishedAt.Equal(f.clock.Now()) {
			t.Errorf("expired request %+v", r)
		}
		f.wantState(t, claimed, proto.StateSuspended, 1)
		f.wantState(t, young, proto.StateSuspended, 1)
		f.wantState(t, orphan, proto.StateRunning, 1)
	})
}
