package store

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

func TestSaveReportMovesRequests(t *testing.T) {
	sjc := &proto.SuspendedJobChain{RequestID: "x", JobChain: &proto.JobChain{}}
	tests := []struct {
		name   string
		stop   bool
		item   proto.ReportItem
		state  proto.State
		reason string
	}{
		{name: "goes on", item: proto.ReportItem{FinishedJobs: 1}, state: proto.StateRunning},
		{name: "complete", item: proto.ReportItem{FinishedJobs: 3, Final: proto.StateComplete}, state: proto.StateComplete},
		{name: "fail", item: proto.ReportItem{Final: proto.StateFail, Reason: "job b failed"}, state: proto.StateFail, reason: "job b failed"},
		{name: "stopped", item: proto.ReportItem{Final: proto.StateStopped, Reason: "by ann"}, state: proto.StateStopped, reason: "by ann"},
		{name: "suspended", item: proto.ReportItem{Suspended: sjc}, state: proto.StateSuspended},
		{name: "goes on while it stops", stop: true, item: proto.ReportItem{FinishedJobs: 1}, state: proto.StateRunning},
		{name: "complete but to be stopped", stop: true, item: proto.ReportItem{Final: proto.StateComplete}, state: proto.StateStopped, reason: stopReason},
		{name: "fail but to be stopped", stop: true, item: proto.ReportItem{Final: proto.StateFail, Reason: "killed"}, state: proto.StateStopped, reason: "killed"},
		{name: "suspended but to be stopped", stop: true, item: proto.ReportItem{Suspended: sjc}, state: proto.StateStopped, reason: stopReason},
	}
	each(t, func(t *testing.T, f *fixture) {
		// All in one report, so that one statement moves them in many ways.
		var items []proto.ReportItem
		var ids []string
		for _, tt := range tests {
			id := f.running(t)
			if tt.stop {
				_, err := f.Stop(t.Context(), id)
				must(t, err)
			}
			it := tt.item
			it.RequestID, it.Epoch = id, 1
			it.Entries = []proto.JobLog{entry(id, 0, "a"), entry(id, 1, "b")}
			items, ids = append(items, it), append(ids, id)
		}
		for _, send := range []string{"first", "again"} {
			f.report(t, items...)
			for i, tt := range tests {
				r := f.wantState(t, ids[i], tt.state, 1)
				if r.FinishedJobs != tt.item.FinishedJobs || r.Reason != tt.reason {
					t.Errorf("%s, sent %s: %d finished, reason %q", tt.name, send, r.FinishedJobs, r.Reason)
				}
				if n := f.count(t, "job_log WHERE request_id = ?", ids[i]); n != 2 {
					t.Errorf("%s, sent %s: %d entries, want 2", tt.name, send, n)
				}
			}
		}
	})
}

func TestSaveReportRefusesWhatIsNoLongerTheRunners(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		good, old, pending := f.running(t), f.running(t), f.create(t)
		done := f.inState(t, proto.StateComplete)
		item := func(id string, epoch uint64) proto.ReportItem {
			return proto.ReportItem{RequestID: id, Epoch: epoch, FinishedJobs: 2, Entries: []proto.JobLog{entry(id, 0, "a")}}
		}
		missing := newID()
		refused, err := f.SaveReport(t.Context(), []proto.ReportItem{
			item(good, 1), item(old, 0), item(pending, 0), item(done, 1), item(missing, 1),
		})
		must(t, err)
		got := map[string]string{}
		for _, r := range refused {
			got[r.RequestID] = r.Message
		}
		want := map[string]string{
			old:     "the request is RUNNING under epoch 1, not RUNNING under epoch 0",
			pending: "the request is PENDING under epoch 0, not RUNNING under epoch 0",
			done:    "the request is COMPLETE under epoch 1, not RUNNING under epoch 1",
			missing: "there is no such request",
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("refused (-want +got):\n%s", d)
		}
		if r := f.request(t, good); r.FinishedJobs != 2 {
			t.Errorf("the good item was not stored: %+v", r)
		}
		if n := f.count(t, "job_log"); n != 1 {
			t.Errorf("%d entries in the log, want that of the good item", n)
		}
	})
}

func TestSaveReportSetsAsideWhatCannotBeStored(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		bad := map[string]func(*proto.ReportItem){
			"job id too long":   func(it *proto.ReportItem) { it.Entries[0].JobID = strings.Repeat("j", 65) },
			"try has not ended": func(it *proto.ReportItem) { it.Entries[0].State = proto.StateRunning },
			"of another":        func(it *proto.ReportItem) { it.Entries[0].RequestID = newID() },
			"twice the seq":     func(it *proto.ReportItem) { it.Entries = append(it.Entries, it.Entries[0]) },
			"final and not":     func(it *proto.ReportItem) { it.Final = proto.StateRunning },
			"final, suspended": func(it *proto.ReportItem) {
				it.Final, it.Suspended = proto.StateFail, &proto.SuspendedJobChain{}
			},
		}
		var items []proto.ReportItem
		good := f.running(t)
		items = append(items, proto.ReportItem{RequestID: good, Epoch: 1, FinishedJobs: 1})
		names := map[string]string{}
		for name, change := range bad {
			id := f.running(t)
			it := proto.ReportItem{RequestID: id, Epoch: 1, Entries: []proto.JobLog{entry(id, 0, "a")}}
			change(&it)
			names[id] = name
			items = append(items, it)
		}
		refused, err := f.SaveReport(t.Context(), items)
		must(t, err)
		for _, r := range refused {
			t.Logf("%s: %s", names[r.RequestID], r.Message)
			delete(names, r.RequestID)
		}
		for _, name := range names {
			t.Errorf("%s: stored", name)
		}
		if r := f.request(t, good); r.FinishedJobs != 1 {
			t.Error("the good item was not stored")
		}
	})
}

func TestSaveReportRefusesOtherEntriesInTheSamePlace(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		id, other := f.running(t), f.running(t)
		f.report(t, proto.ReportItem{RequestID: id, Epoch: 1, Entries: []proto.JobLog{entry(id, 0, "a")}})
		refused, err := f.SaveReport(t.Context(), []proto.ReportItem{
			{RequestID: id, Epoch: 1, FinishedJobs: 2, Entries: []proto.JobLog{entry(id, 0, "b")}},
			{RequestID: other, Epoch: 1, FinishedJobs: 2, Entries: []proto.JobLog{entry(other, 0, "b")}},
		})
		must(t, err)
		if len(refused) != 1 || refused[0].RequestID != id {
			t.Fatalf("refused %+v, want the item of %s", refused, id)
		}
		if f.request(t, id).FinishedJobs != 0 || f.request(t, other).FinishedJobs != 2 {
			t.Error("the refused item was stored, or the other one was not")
		}
		// Half of it is there, and half is new.
		f.report(t, proto.ReportItem{RequestID: id, Epoch: 1, Entries: []proto.JobLog{entry(id, 0, "a"), entry(id, 1, "b")}})
		if n := f.count(t, "job_log WHERE request_id = ?", id); n != 2 {
			t.Errorf("%d entries, want 2", n)
		}
	})
}

func TestSaveReportWantsARequestOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		id := f.running(t)
		it := proto.ReportItem{RequestID: id, Epoch: 1}
		if _, err := f.SaveReport(t.Context(), []proto.ReportItem{it, it}); proto.ErrorCode(err) != proto.CodeInvalid {
			t.Errorf("error %v, want one of code invalid", err)
		}
	})
}

func TestSaveReportSetsAsideWhatIsTooLarge(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		var items []proto.ReportItem
		for range 5 {
			id := f.running(t)
			items = append(items, proto.ReportItem{RequestID: id, Epoch: 1, FinishedJobs: 1, Entries: []proto.JobLog{entry(id, 0, "a")}})
		}
		most := 16 << 20
		if f.db.Dialect == &database.MySQLDialect {
			must(t, f.db.Writer.QueryRowContext(t.Context(), "SELECT @@max_allowed_packet").Scan(&most))
		}
		items[2].Entries[0].Stdout = strings.Repeat("x", most+1<<20)
		refused, err := f.SaveReport(t.Context(), items)
		must(t, err)
		for _, r := range refused {
			if r.RequestID != items[2].RequestID {
				t.Errorf("refused %+v", r)
			}
		}
		// SQLite can hold it.
		if want := f.db.Dialect == &database.MySQLDialect; want != (len(refused) == 1) {
			t.Errorf("refused %+v", refused)
		}
		if n := f.count(t, "job_log"); n != len(items)-len(refused) {
			t.Errorf("%d entries, want %d", n, len(items)-len(refused))
		}
	})
}
