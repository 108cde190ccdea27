package request

import (
	"context"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
)

// Report stores a batch of news from a runner in one transaction. Items of
// chains that are no longer the runner's are refused one by one; all others are
// durable when it returns.
func (m *Manager) Report(ctx context.Context, r proto.Report) (proto.ReportAnswer, error) {
	for i := range r.Items {
		if err := checkItem(&r.Items[i]); err != nil {
			return proto.ReportAnswer{}, err
		}
		failInterrupted(&r.Items[i])
	}
	refusals, err := m.store.SaveReport(ctx, r.Items)
	if err != nil {
		return proto.ReportAnswer{}, storeError(err, "")
	}
	refused := refusedIDs(refusals)
	m.metrics.tookReport(r.Items, refused)
	suspended, ended := 0, 0
	var finals []string
	for i := range r.Items {
		m.changes.notify(r.Items[i].RequestID)
		if r.Items[i].Suspended != nil || r.Items[i].Final != proto.StateUnknown {
			finals = append(finals, r.Items[i].RequestID) // what is handed in and to be stopped has ended, too
		}
		if sjc := r.Items[i].Suspended; sjc != nil {
			suspended++
			if r.RunnerID != "" && !refused[r.Items[i].RequestID] { // our own is a replay itself
				m.comparer.add(sjc)
			}
		} else if r.Items[i].Final != proto.StateUnknown {
			ended++
		}
	}
	if len(finals) > 0 {
		m.cfg.Ended(finals...)
	}
	if suspended+ended > 0 {
		m.fleet.release(r.RunnerID, suspended+ended)
	}
	if suspended > 0 {
		// It is ending or draining, which its next heartbeat says, if one comes: what
		// it has just handed in must not go back to it.
		m.fleet.suspect(r.RunnerID)
		wait.Nudge(m.resumer.wake)
	}
	for _, f := range refusals {
		m.log.Warn("report refused", "request", f.RequestID, "epoch", f.Epoch, "runner", r.RunnerID, "why", f.Message)
	}
	return proto.ReportAnswer{Refused: refusals}, nil
}

// refusedIDs returns the requests of the refused items.
func refusedIDs(refusals []proto.Refusal) map[string]bool {
	ids := make(map[string]bool, len(refusals))
	for _, f := range refusals {
		ids[f.RequestID] = true
	}
	return ids
}

func checkItem(item *proto.ReportItem) error {
	if item.Final != proto.StateUnknown && !item.Final.Final() {
		return proto.Errorf(proto.CodeInvalid, "final state %s: expected COMPLETE, FAIL or STOPPED", item.Final).ForRequest(item.RequestID)
	}
	if s := item.Suspended; s != nil && (s.RequestID != item.RequestID || s.JobChain == nil) {
		return proto.Errorf(proto.CodeInvalid, "suspended job chain: no jobChain, or of another request").ForRequest(item.RequestID)
	}
	for i := range item.Entries {
		if err := checkEntry(item.RequestID, &item.Entries[i]); err != nil {
			return err
		}
	}
	return nil
}

func checkEntry(requestID string, e *proto.JobLog) error {
	switch {
	case e.RequestID != requestID:
		return proto.Errorf(proto.CodeInvalid, "job log entry: requestId is %q", e.RequestID).ForRequest(requestID)
	case e.JobID == "":
		return proto.Errorf(proto.CodeInvalid, "job log entry: no jobId").ForRequest(requestID)
	case !e.State.Final():
		return proto.Errorf(proto.CodeInvalid, "job log entry: state %s: expected COMPLETE, FAIL or STOPPED", e.State).ForRequest(requestID)
	}
	return nil
}

// report stores one item; one that is refused is CodeConflict.
func (m *Manager) report(ctx context.Context, item proto.ReportItem) error {
	answer, err := m.Report(ctx, proto.Report{Items: []proto.ReportItem{item}})
	if err == nil && len(answer.Refused) > 0 {
		err = proto.Errorf(proto.CodeConflict, "%s", answer.Refused[0].Message).ForRequest(item.RequestID)
	}
	return err
}

// AddLog appends one job log entry.
func (m *Manager) AddLog(ctx context.Context, epoch uint64, e proto.JobLog) error {
	if err := checkEntry(e.RequestID, &e); err != nil {
		return err
	}
	err := storeError(m.store.AppendLog(ctx, epoch, e), e.RequestID)
	m.changes.notify(e.RequestID)
	return err
}

// Progress takes in how many jobs have finished.
func (m *Manager) Progress(ctx context.Context, epoch uint64, p proto.Progress) error {
	err := storeError(m.store.SetProgress(ctx, p.RequestID, epoch, p.FinishedJobs), p.RequestID)
	m.changes.notify(p.RequestID)
	return err
}

// Finish ends a RUNNING request.
func (m *Manager) Finish(ctx context.Context, epoch uint64, f proto.Finish) error {
	if !f.State.Final() {
		return proto.Errorf(proto.CodeInvalid, "state %s: expected COMPLETE, FAIL or STOPPED", f.State).ForRequest(f.RequestID)
	}
	return m.report(ctx, proto.ReportItem{RequestID: f.RequestID, Epoch: epoch, Final: f.State, FinishedJobs: f.FinishedJobs})
}

// FailPending ends a PENDING request as FAIL.
func (m *Manager) FailPending(ctx context.Context, id, reason string) error {
	err := storeError(m.store.FailPending(ctx, id, reason), id)
	if err == nil {
		m.metrics.ended.WithLabelValues(proto.StateFail.String()).Inc()
	}
	m.mayHaveEnded(id)
	return err
}

// SuspendReport takes a suspended job chain from its runner.
func (m *Manager) SuspendReport(ctx context.Context, epoch uint64, sjc *proto.SuspendedJobChain) error {
	return m.resumer.Suspend(ctx, epoch, sjc)
}
