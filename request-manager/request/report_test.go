package request

import (
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
)

func TestReportsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		w.runner(m, "jr-1", "http://jr-1")
		id := w.create(m, "deploy")
		after(time.Second)
		good := w.entry(id, "first", 0)
		with := func(change func(e *proto.JobLog)) proto.ReportItem {
			e := good
			change(&e)
			return proto.ReportItem{RequestID: id, Epoch: 1, Entries: []proto.JobLog{e}}
		}
		for name, item := range map[string]proto.ReportItem{
			"entry of another request":    with(func(e *proto.JobLog) { e.RequestID = "other" }),
			"entry without a job":         with(func(e *proto.JobLog) { e.JobID = "" }),
			"entry of a try that runs":    with(func(e *proto.JobLog) { e.State = proto.StateRunning }),
			"end in a state that is none": {RequestID: id, Epoch: 1, Final: proto.StateSuspended},
			"suspended without a chain":   {RequestID: id, Epoch: 1, Suspended: &proto.SuspendedJobChain{RequestID: id}},
			"suspended of another":        {RequestID: id, Epoch: 1, Suspended: &proto.SuspendedJobChain{RequestID: "x", JobChain: &proto.JobChain{}}},
		} {
			_, err := m.Report(w.t.Context(), proto.Report{RunnerID: "jr-1", Items: []proto.ReportItem{item}})
			if proto.ErrorCode(err) != proto.CodeInvalid {
				w.t.Errorf("%s: error %v", name, err)
			}
		}
		errorCode(w.t, m.Finish(w.t.Context(), 1, proto.Finish{RequestID: id, State: proto.StateRunning}), proto.CodeInvalid)
		errorCode(w.t, m.Finish(w.t.Context(), 2, proto.Finish{RequestID: id, State: proto.StateComplete}), proto.CodeConflict)
		errorCode(w.t, m.Progress(w.t.Context(), 2, proto.Progress{RequestID: id}), proto.CodeConflict)
		errorCode(w.t, m.AddLog(w.t.Context(), 2, good), proto.CodeConflict)
		errorCode(w.t, m.FailPending(w.t.Context(), id, "no"), proto.CodeConflict)
		w.want(id, proto.StateRunning)
	})
}

// One item is of an old epoch: it alone is refused.
func TestItemsAreRefusedOneByOne(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		w.runner(m, "jr-1", "http://jr-1")
		a, b := w.create(m, "deploy"), w.create(m, "deploy")
		after(time.Second)
		report := proto.Report{RunnerID: "jr-1", Items: []proto.ReportItem{
			{RequestID: a, Epoch: 0, Final: proto.StateComplete, Entries: w.rest(a)},
			{RequestID: b, Epoch: 1, Final: proto.StateComplete, Entries: w.rest(b)},
		}}
		for range 2 { // the second time the first answer was lost
			answer, err := m.Report(w.t.Context(), report)
			must(w.t, err)
			if len(answer.Refused) != 1 || answer.Refused[0].RequestID != a {
				w.t.Errorf("refused: %+v", answer.Refused)
			}
		}
		w.want(a, proto.StateRunning)
		w.want(b, proto.StateComplete)
	})
}

// What clients of the v1 API report one by one does the same as a batch.
func TestTheCallsOfOneNewsEach(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		w.runner(m, "jr-1", "http://jr-1")
		id := w.create(m, "deploy")
		after(time.Second)
		must(w.t, m.AddLog(w.t.Context(), 1, w.entry(id, "first", 0)))
		must(w.t, m.Progress(w.t.Context(), 1, proto.Progress{RequestID: id, FinishedJobs: 1}))
		if r := w.want(id, proto.StateRunning); r.FinishedJobs != 1 {
			w.t.Errorf("%d jobs are finished", r.FinishedJobs)
		}
		must(w.t, m.Finish(w.t.Context(), 1, proto.Finish{RequestID: id, State: proto.StateComplete, FinishedJobs: 2}))
		if r := w.want(id, proto.StateComplete); r.FinishedJobs != 2 {
			w.t.Errorf("%d jobs are finished", r.FinishedJobs)
		}
		e, err := m.LastLog(w.t.Context(), id, w.entry(id, "first", 0).JobID)
		if err != nil || e.Name != "first" {
			w.t.Errorf("last entry %+v, %v", e, err)
		}
	})
}
