package store

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
)

func TestPendingRequestsOldestFirst(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		var ids []string
		for range 4 {
			ids = append(ids, f.create(t))
			f.clock.Add(time.Second)
		}
		f.running(t)
		f.clock.Add(time.Millisecond)
		for _, tt := range []struct {
			olderThan time.Duration
			limit     int
			want      []string
		}{
			{0, 10, ids}, {0, 2, ids[:2]}, {2 * time.Second, 10, ids[:3]}, {time.Minute, 10, nil},
		} {
			pending, err := f.PendingRequests(t.Context(), tt.olderThan, tt.limit)
			must(t, err)
			var got []string
			for _, p := range pending {
				got = append(got, p.RequestID)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("older than %s, limit %d: %v, want %v", tt.olderThan, tt.limit, got, tt.want)
			}
		}
	})
}

func TestDispatchTakesOnlyWhatIsPending(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		fresh, returned := f.create(t), f.running(t)
		must(t, f.Return(t.Context(), returned, 1, "refused"))
		running, suspended, done := f.running(t), f.suspended(t), f.inState(t, proto.StateFail)
		want := []string{fresh, returned}
		slices.Sort(want)
		f.clock.Add(time.Second)
		reqs := []Handover{{fresh, 0}, {returned, 1}, {running, 1}, {suspended, 1}, {done, 1}, {newID(), 0}}
		taken, err := f.Dispatch(t.Context(), reqs, "jr-2", "http://jr-2")
		must(t, err)
		slices.Sort(taken)
		if !slices.Equal(taken, want) {
			t.Errorf("took %v, want %v", taken, want)
		}
		for id, epoch := range map[string]uint64{fresh: 1, returned: 2} {
			r := f.wantState(t, id, proto.StateRunning, epoch)
			if r.JobRunnerURL != "http://jr-2" || r.StartedAt == nil || !r.StartedAt.Equal(f.clock.Now()) || r.Reason != "" {
				t.Errorf("dispatched request %+v", r)
			}
		}
		if r := f.request(t, running); r.JobRunnerURL != "http://jr-1" || r.Epoch != 1 {
			t.Errorf("a running request was touched: %+v", r)
		}
		// The epoch that it had.
		must(t, f.Return(t.Context(), fresh, 1, ""))
		if taken, err := f.Dispatch(t.Context(), []Handover{{fresh, 0}}, "jr-2", ""); err != nil || len(taken) != 0 {
			t.Errorf("took %v under an old epoch, error %v", taken, err)
		}
	})
}

func TestReturnAndFailPending(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		id := f.running(t)
		if err := f.Return(t.Context(), id, 0, "x"); !errors.Is(err, ErrNotUpdated) {
			t.Errorf("return under another epoch: %v", err)
		}
		if err := f.FailPending(t.Context(), id, "x"); !errors.Is(err, ErrNotUpdated) {
			t.Errorf("fail while running: %v", err)
		}
		must(t, f.Return(t.Context(), id, 1, "no runner took it"))
		if r := f.wantState(t, id, proto.StatePending, 1); r.Reason != "no runner took it" || r.StartedAt != nil {
			t.Errorf("returned request %+v", r)
		}
		must(t, f.FailPending(t.Context(), id, "its spec is gone"))
		if r := f.wantState(t, id, proto.StateFail, 1); r.Reason != "its spec is gone" {
			t.Errorf("failed request %+v", r)
		}

		stopped := f.running(t)
		_, err := f.Stop(t.Context(), stopped)
		must(t, err)
		must(t, f.Return(t.Context(), stopped, 1, "no runner took it"))
		if r := f.wantState(t, stopped, proto.StateStopped, 1); r.Reason != stopReason {
			t.Errorf("returned request that was to be stopped: %+v", r)
		}
	})
}

func TestReturnKeepsWhatHasRun(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		id := f.running(t)
		f.report(t, proto.ReportItem{RequestID: id, Epoch: 1, Entries: []proto.JobLog{entry(id, 0, "a")}})
		if err := f.Return(t.Context(), id, 1, ""); !errors.Is(err, ErrNotUpdated) {
			t.Errorf("error %v, want ErrNotUpdated: job a would run again", err)
		}
		f.wantState(t, id, proto.StateRunning, 1)
	})
}

func TestStopInEveryState(t *testing.T) {
	tests := []struct {
		from, to proto.State
		final    bool
	}{
		{from: proto.StatePending, to: proto.StateStopped},
		{from: proto.StateRunning, to: proto.StateRunning},
		{from: proto.StateSuspended, to: proto.StateStopped},
		{from: proto.StateComplete, to: proto.StateComplete, final: true},
		{from: proto.StateFail, to: proto.StateFail, final: true},
		{from: proto.StateStopped, to: proto.StateStopped, final: true},
	}
	each(t, func(t *testing.T, f *fixture) {
		for _, tt := range tests {
			id := f.inState(t, tt.from)
			before := f.request(t, id)
			f.clock.Add(time.Second)
			got, err := f.Stop(t.Context(), id)
			if tt.final != errors.Is(err, ErrNotUpdated) || !tt.final && err != nil {
				t.Errorf("%s: error %v", tt.from, err)
			}
			want := Stopped{State: tt.to, Epoch: before.Epoch}
			if tt.to == proto.StateRunning {
				want.RunnerID, want.URL = "jr-1", "http://jr-1"
			}
			if got != want {
				t.Errorf("%s: %+v, want %+v", tt.from, got, want)
			}
			after := f.wantState(t, id, tt.to, before.Epoch)
			if after.StopRequested == tt.final {
				t.Errorf("%s: stop requested is %v", tt.from, after.StopRequested)
			}
			if tt.final && !after.FinishedAt.Equal(*before.FinishedAt) {
				t.Errorf("%s: a request that has ended changed", tt.from)
			}
			if !tt.final && tt.to == proto.StateStopped && (after.Reason != stopReason || !after.FinishedAt.Equal(f.clock.Now())) {
				t.Errorf("%s: stopped request %+v", tt.from, after)
			}
		}
	})
}

func TestARequestToBeStoppedIsNotDispatched(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		id := f.create(t)
		// It cannot be PENDING and to be stopped by any call; if it is all the same,
		// it must not start.
		_, err := f.db.Writer.ExecContext(t.Context(), "UPDATE requests SET stop_requested_at = 1 WHERE request_id = ?", id)
		must(t, err)
		taken, err := f.Dispatch(t.Context(), []Handover{{id, 0}}, "jr-1", "")
		must(t, err)
		if len(taken) != 0 {
			t.Errorf("took %v", taken)
		}
		pending, err := f.PendingRequests(t.Context(), 0, 1)
		must(t, err)
		if len(pending) != 1 || !pending[0].StopRequested {
			t.Errorf("pending %+v", pending)
		}
	})
}
