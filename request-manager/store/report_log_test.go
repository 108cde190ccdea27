package store

import (
	"testing"

	"github.com/treadle-run/treadle/proto"
)

// A manager computes from the log what becomes of a request. An entry that comes
// between the two must not be lost: what it says is done would be done again.
func TestWhatWasComputedFromAnOldLogIsRefused(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		grown, same, empty := f.running(t), f.running(t), f.running(t)
		for _, id := range []string{grown, same} {
			f.report(t, proto.ReportItem{RequestID: id, Epoch: 1, FinishedJobs: 1, Entries: []proto.JobLog{entry(id, 0, "a")}})
		}
		f.report(t, proto.ReportItem{RequestID: grown, Epoch: 1, FinishedJobs: 2, Entries: []proto.JobLog{entry(grown, 1, "b")}})
		none, one := uint64(0), uint64(1)
		suspend := func(id string, n *uint64) proto.ReportItem {
			return proto.ReportItem{RequestID: id, Epoch: 1, FinishedJobs: uint(*n), LogLength: n,
				Suspended: &proto.SuspendedJobChain{RequestID: id, Entries: *n, JobChain: &proto.JobChain{RequestID: id}}}
		}
		refused, err := f.SaveReport(t.Context(), []proto.ReportItem{suspend(grown, &one), suspend(same, &one), suspend(empty, &none)})
		must(t, err)
		if len(refused) != 1 || refused[0].RequestID != grown {
			t.Errorf("refused: %+v, want the one with the grown log", refused)
		}
		for id, want := range map[string]proto.State{grown: proto.StateRunning, same: proto.StateSuspended, empty: proto.StateSuspended} {
			if r := f.request(t, id); r.State != want {
				t.Errorf("request is %s, want %s", r.State, want)
			}
		}
		if r := f.request(t, grown); r.FinishedJobs != 2 {
			t.Errorf("%d jobs are finished, want 2", r.FinishedJobs)
		}
	})
}
