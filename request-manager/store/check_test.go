package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/proto"
)

var checkLimits = CheckOptions{
	RunnerSilence: time.Minute, StopAge: 2 * time.Minute, ClaimAge: 3 * time.Minute, ClockSkew: 10 * time.Second,
}

// check returns the findings as check and request.
func (f *fixture) check(t *testing.T, opt CheckOptions) (found [][2]string) {
	t.Helper()
	res, err := f.Check(t.Context(), opt)
	must(t, err)
	for _, x := range res.Findings {
		found = append(found, [2]string{x.Check, x.RequestID})
		t.Logf("%s %s: %s", x.Check, x.RequestID, x.Message)
	}
	slices.SortFunc(found, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
	return found
}

func (f *fixture) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	res, err := f.db.Writer.ExecContext(t.Context(), sql, args...)
	must(t, err)
	if n, err := res.RowsAffected(); err != nil || n == 0 {
		t.Fatalf("%s: changed nothing (%v)", sql, err)
	}
}

// at is an entry whose try was at the fixture's time.
func (f *fixture) at(id string, seq uint64, job string, try uint, state proto.State) proto.JobLog {
	e := entry(id, seq, job)
	e.Try, e.State = try, state
	e.StartedAt = f.clock.Now().UnixNano()
	e.FinishedAt = e.StartedAt
	return e
}

// completed makes a request that has really run.
func (f *fixture) completed(t *testing.T) string {
	t.Helper()
	id := f.running(t)
	f.report(t, proto.ReportItem{RequestID: id, Epoch: 1, FinishedJobs: 3, Final: proto.StateComplete, Entries: []proto.JobLog{
		f.at(id, 0, "a", 1, proto.StateComplete), f.at(id, 1, "b", 1, proto.StateFail),
		f.at(id, 2, "b", 2, proto.StateComplete), f.at(id, 3, "c", 1, proto.StateComplete),
	}})
	return id
}

// ofAllKinds makes requests in all states, and a runner that lives.
func (f *fixture) ofAllKinds(t *testing.T) {
	t.Helper()
	_, err := f.Heartbeat(t.Context(), proto.Runner{ID: "jr-1", URL: "http://jr-1"})
	must(t, err)
	f.completed(t)
	for _, s := range []proto.State{proto.StatePending, proto.StateRunning, proto.StateSuspended, proto.StateFail, proto.StateStopped} {
		f.inState(t, s)
	}
	_, err = f.Stop(t.Context(), f.running(t))
	must(t, err)
	for _, s := range []proto.State{proto.StatePending, proto.StateSuspended} {
		_, err := f.Stop(t.Context(), f.inState(t, s))
		must(t, err)
	}
	_, err = f.ClaimSJC(t.Context(), f.suspended(t), "rm-1")
	must(t, err)
}

func TestCheckFindsNothingAfterWork(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.ofAllKinds(t)
		f.clock.Add(time.Minute)
		if found := f.check(t, checkLimits); len(found) > 0 {
			t.Errorf("found %v in a database that is right", found)
		}
		res, err := f.Check(t.Context(), checkLimits)
		must(t, err)
		if res.Requests != 10 || res.Findings == nil || res.Cut == nil {
			t.Errorf("result %+v, want 10 requests and empty lists", res)
		}
	})
}

func TestCheckFindsWhatIsBroken(t *testing.T) {
	const setState = "UPDATE requests SET state = ? WHERE request_id = ?"
	tests := []struct {
		name  string
		check string
		// harm breaks a database that is right, and returns the request.
		harm func(t *testing.T, f *fixture) string
	}{
		{"runner unknown", CheckRunner, func(t *testing.T, f *fixture) string {
			id := f.running(t)
			f.exec(t, "UPDATE requests SET runner_id = 'jr-9' WHERE request_id = ?", id)
			return id
		}},
		{"runner silent", CheckRunner, func(t *testing.T, f *fixture) string {
			_, err := f.Heartbeat(t.Context(), proto.Runner{ID: "jr-2", URL: "http://jr-2"})
			must(t, err)
			f.exec(t, "UPDATE job_runners SET heartbeat_at = heartbeat_at - 100000000 WHERE runner_id = 'jr-2'")
			id := f.create(t)
			_, err = f.Dispatch(t.Context(), []Handover{{RequestID: id}}, "jr-2", "http://jr-2")
			must(t, err)
			return id
		}},
		{"on no runner", CheckRunner, func(t *testing.T, f *fixture) string {
			id := f.running(t)
			f.exec(t, "UPDATE requests SET runner_id = NULL WHERE request_id = ?", id)
			return id
		}},
		{"old stop", CheckStop, func(t *testing.T, f *fixture) string {
			id := f.running(t)
			f.exec(t, "UPDATE requests SET stop_requested_at = ? WHERE request_id = ?", f.clock.Now().Add(-2*time.Minute).UnixMicro(), id)
			return id
		}},
		{"pending but to be stopped", CheckStop, func(t *testing.T, f *fixture) string {
			id := f.create(t)
			f.exec(t, "UPDATE requests SET stop_requested_at = created_at WHERE request_id = ?", id)
			return id
		}},
		{"suspended but to be stopped", CheckStop, func(t *testing.T, f *fixture) string {
			id := f.suspended(t)
			f.exec(t, "UPDATE requests SET stop_requested_at = created_at WHERE request_id = ?", id)
			return id
		}},
		{"no finish time", CheckFinishTime, func(t *testing.T, f *fixture) string {
			id := f.inState(t, proto.StateFail)
			f.exec(t, "UPDATE requests SET finished_at = NULL WHERE request_id = ?", id)
			return id
		}},
		{"finish time too early", CheckFinishTime, func(t *testing.T, f *fixture) string {
			id := f.create(t)
			f.exec(t, "UPDATE requests SET finished_at = created_at WHERE request_id = ?", id)
			return id
		}},
		{"complete with too few jobs", CheckFinished, func(t *testing.T, f *fixture) string {
			id := f.completed(t)
			f.exec(t, "UPDATE requests SET finished_jobs = 2 WHERE request_id = ?", id)
			return id
		}},
		{"complete with a job that is not", CheckFinished, func(t *testing.T, f *fixture) string {
			id := f.completed(t)
			f.exec(t, "UPDATE job_log SET state = 6 WHERE request_id = ? AND seq = 3", id)
			return id
		}},
		{"stopped with more than the log", CheckFinished, func(t *testing.T, f *fixture) string {
			id := f.inState(t, proto.StateStopped)
			f.exec(t, "UPDATE requests SET finished_jobs = 1 WHERE request_id = ?", id)
			return id
		}},
		{"suspended with less than the log", CheckFinished, func(t *testing.T, f *fixture) string {
			id := f.running(t)
			f.report(t, proto.ReportItem{RequestID: id, Epoch: 1, FinishedJobs: 1, Entries: []proto.JobLog{f.at(id, 0, "a", 1, proto.StateComplete)}})
			must(t, f.Suspend(t.Context(), id, 1, time.Time{}, []byte(`{}`), false, ""))
			f.exec(t, "UPDATE requests SET finished_jobs = 0 WHERE request_id = ?", id)
			return id
		}},
		{"running with more jobs than there are", CheckFinished, func(t *testing.T, f *fixture) string {
			id := f.running(t)
			f.report(t, proto.ReportItem{RequestID: id, Epoch: 1, FinishedJobs: 4})
			return id
		}},
		{"entry lost", CheckLogGap, func(t *testing.T, f *fixture) string {
			id := f.completed(t)
			f.exec(t, "DELETE FROM job_log WHERE request_id = ? AND seq = 1", id)
			return id
		}},
		{"first entry lost", CheckLogGap, func(t *testing.T, f *fixture) string {
			id := f.running(t)
			f.report(t, proto.ReportItem{RequestID: id, Epoch: 1, Entries: []proto.JobLog{f.at(id, 1, "a", 1, proto.StateComplete)}})
			return id
		}},
		{"entry of the future", CheckLogEpoch, func(t *testing.T, f *fixture) string {
			id := f.completed(t)
			f.exec(t, "UPDATE job_log SET epoch = 2 WHERE request_id = ? AND seq = 3", id)
			return id
		}},
		{"entry of a former runner", CheckLogEpoch, func(t *testing.T, f *fixture) string {
			id := f.completed(t)
			f.exec(t, "UPDATE requests SET epoch = 2 WHERE request_id = ?", id)
			f.exec(t, "UPDATE job_log SET epoch = 2 WHERE request_id = ? AND seq < 3", id)
			return id
		}},
		{"try after the end", CheckLogAfterEnd, func(t *testing.T, f *fixture) string {
			id := f.completed(t)
			f.exec(t, "UPDATE job_log SET started_at = started_at + 11000000000 WHERE request_id = ? AND seq = 3", id)
			return id
		}},
		{"pending with a log", CheckLogPending, func(t *testing.T, f *fixture) string {
			id := f.running(t)
			f.report(t, proto.ReportItem{RequestID: id, Epoch: 1, Entries: []proto.JobLog{f.at(id, 0, "a", 1, proto.StateComplete)}})
			f.exec(t, setState, proto.StatePending, id)
			return id
		}},
		{"run again", CheckRerun, func(t *testing.T, f *fixture) string {
			id := f.completed(t)
			f.exec(t, "UPDATE job_log SET state = 3 WHERE request_id = ? AND seq = 1", id)
			return id
		}},
		{"suspended chain lost", CheckNoSJC, func(t *testing.T, f *fixture) string {
			id := f.suspended(t)
			f.exec(t, "DELETE FROM suspended_job_chains WHERE request_id = ?", id)
			return id
		}},
		{"suspended chain left", CheckSJC, func(t *testing.T, f *fixture) string {
			id := f.running(t)
			f.exec(t, "INSERT INTO suspended_job_chains (request_id, suspended_at, updated_at, sjc) VALUES (?, 1, 1, 'x')", id)
			return id
		}},
		{"suspended chain of nothing", CheckSJC, func(t *testing.T, f *fixture) string {
			id := newID()
			f.exec(t, "INSERT INTO suspended_job_chains (request_id, suspended_at, updated_at, sjc) VALUES (?, 1, 1, 'x')", id)
			return id
		}},
		{"old claim", CheckClaim, func(t *testing.T, f *fixture) string {
			id := f.suspended(t)
			_, err := f.ClaimSJC(t.Context(), id, "rm-9")
			must(t, err)
			f.exec(t, "UPDATE suspended_job_chains SET claimed_at = claimed_at - 130000000 WHERE request_id = ?", id)
			return id
		}},
	}
	each(t, func(t *testing.T, f *fixture) {
		f.ofAllKinds(t)
		var want [][2]string
		for _, tt := range tests {
			want = append(want, [2]string{tt.check, tt.harm(t, f)})
		}
		f.clock.Add(time.Minute)
		// The runner of all others lives.
		_, err := f.Heartbeat(t.Context(), proto.Runner{ID: "jr-1", URL: "http://jr-1"})
		must(t, err)
		slices.SortFunc(want, func(a, b [2]string) int { return slices.Compare(a[:], b[:]) })
		f.clock.Add(time.Second)
		if d := cmp.Diff(want, f.check(t, checkLimits)); d != "" {
			t.Errorf("found (-want +got):\n%s", d)
		}
		var names []string
		for _, tt := range tests {
			names = append(names, tt.check)
		}
		for _, name := range slices.DeleteFunc(Checks(), ofSchedule) {
			if !slices.Contains(names, name) {
				t.Errorf("nothing was broken for %s", name)
			}
		}
	})
}

// A sequence that starts again makes its jobs unfinished: only a replay can tell.
func TestCheckAsksForReplaysWhereSequencesMayHaveStartedAgain(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		failed := func() string {
			id := f.running(t)
			f.report(t, proto.ReportItem{RequestID: id, Epoch: 1, Final: proto.StateFail, Entries: []proto.JobLog{
				f.at(id, 0, "a", 1, proto.StateComplete), f.at(id, 1, "b", 1, proto.StateFail),
			}})
			return id
		}
		right, wrong, broken := failed(), failed(), failed()
		f.completed(t)
		asked := 0
		opt := checkLimits
		opt.Replay = func(_ context.Context, id string, entries uint64) (uint, error) {
			asked++
			if entries != 2 {
				t.Errorf("asked for a replay of %d entries, want 2", entries)
			}
			switch id {
			case right:
				return 0, nil
			case wrong:
				return 1, nil
			}
			return 0, errors.New("no such job")
		}
		want := [][2]string{{CheckFinished, wrong}, {CheckFinished, broken}}
		if d := cmp.Diff(want, f.check(t, opt)); d != "" {
			t.Errorf("found (-want +got):\n%s", d)
		}
		if asked != 3 {
			t.Errorf("asked for %d replays, want 3", asked)
		}
	})
}

func TestCheckIsBounded(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		// More than a page, many at the same time.
		var reqs []NewRequest
		for range 2*checkPage + 50 {
			reqs = append(reqs, newRequest(newID()))
		}
		must(t, f.CreateRequests(t.Context(), reqs))
		f.exec(t, "UPDATE requests SET stop_requested_at = created_at")
		for i, r := range reqs[:checkPage+50] {
			f.exec(t, "UPDATE requests SET state = 6, finished_at = ?, finished_jobs = 1 WHERE request_id = ?",
				f.clock.Now().Add(-time.Duration(i/7)*time.Minute).UnixMicro(), r.Request.ID)
		}
		count := func(opt CheckOptions) string {
			res, err := f.Check(t.Context(), opt)
			must(t, err)
			n := map[string]int{}
			for _, x := range res.Findings {
				n[x.Check]++
			}
			return fmt.Sprint(res.Requests, n, res.Cut)
		}
		for _, tt := range []struct {
			name string
			opt  CheckOptions
			want string
		}{
			{"all", CheckOptions{Findings: 1000}, "450 map[finished-jobs:250 stop-not-obeyed:200] []"},
			{"by default", CheckOptions{}, "450 map[finished-jobs:100 stop-not-obeyed:100] [stop-not-obeyed finished-jobs]"},
			{"since", CheckOptions{Since: 2 * time.Minute, Findings: 1000}, "221 map[finished-jobs:21 stop-not-obeyed:200] []"},
			{"some", CheckOptions{Requests: 10, Findings: 1000}, "400 map[finished-jobs:200 stop-not-obeyed:200] []"},
		} {
			if got := count(tt.opt); got != tt.want {
				t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
			}
		}
	})
}

// ofSchedule reports whether a check is about recurring work.
func ofSchedule(check string) bool {
	return slices.Contains([]string{CheckMember, CheckNext, CheckNumbers, CheckSlot, CheckSignal}, check)
}
