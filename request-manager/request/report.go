package request

import (
	"context"
	"log/slog"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// Report stores a batch of news from a runner in one transaction. Items of
// chains that are no longer the runner's are refused one by one; all others are
// durable when it returns.
func (m *Manager) Report(ctx context.Context, r proto.Report) (proto.ReportAnswer, error) {
	return m.reporter.saveChecked(ctx, r)
}

// AddLog appends one job log entry.
func (m *Manager) AddLog(ctx context.Context, epoch uint64, e proto.JobLog) error {
	if err := checkEntry(e.RequestID, &e); err != nil {
		return err
	}
	if err := e.Check(e.RequestID); err != nil {
		return proto.Errorf(proto.CodeInvalid, "job log: %v", err).ForRequest(e.RequestID)
	}
	if err := m.folds.checkNext(ctx, e); err != nil {
		return err
	}
	err := storeError(m.store.AppendLog(ctx, epoch, e), e.RequestID)
	if err != nil {
		m.folds.forget(e.RequestID)
	}
	m.changes.notify(e.RequestID)
	return err
}

// Progress records how many jobs have finished.
func (m *Manager) Progress(ctx context.Context, epoch uint64, p proto.Progress) error {
	err := storeError(m.store.SetProgress(ctx, p.RequestID, epoch, p.FinishedJobs), p.RequestID)
	m.changes.notify(p.RequestID)
	return err
}

// reporter stores what became of requests, and tells the roles that go on from
// there.
type reporter struct {
	store   *store.Store
	log     *slog.Logger
	metrics *metrics
	changes *changes
	fleet   *fleet
	compare func(*proto.SuspendedJobChain)
	folds   *folds
	resume  chan<- struct{} // woken when a chain was handed back
}

// saveOne stores one item; one that is refused is CodeConflict.
func (r *reporter) saveOne(ctx context.Context, item proto.ReportItem) error {
	answer, err := r.save(ctx, proto.Report{Items: []proto.ReportItem{item}})
	if err == nil && len(answer.Refused) > 0 {
		err = proto.Errorf(proto.CodeConflict, "%s", answer.Refused[0].Message).ForRequest(item.RequestID)
	}
	return err
}

// saveChecked is save for the report of a runner: items that do not fit the chains of
// their requests are refused.
func (r *reporter) saveChecked(ctx context.Context, report proto.Report) (proto.ReportAnswer, error) {
	var refused []proto.Refusal
	fit := report
	fit.Items = make([]proto.ReportItem, 0, len(report.Items))
	for i := range report.Items {
		item := report.Items[i]
		if err := checkItem(&item); err != nil {
			return proto.ReportAnswer{}, err
		}
		err := r.folds.check(ctx, &item)
		switch proto.ErrorCode(err) {
		case proto.CodeConflict, proto.CodeNotFound:
			refused = append(refused, proto.Refusal{RequestID: item.RequestID, Epoch: item.Epoch, Message: proto.Body(err).Message})
			r.log.Warn("report refused: it does not fit the stored job chain and job log",
				"request", item.RequestID, "epoch", item.Epoch, "runner", report.RunnerID, "why", proto.Body(err).Message)
			continue
		}
		if err != nil && !isBroken(err) {
			return proto.ReportAnswer{}, err
		}
		fit.Items = append(fit.Items, item) // if what is stored cannot be read, its runner alone can end it well
	}
	answer, err := r.save(ctx, fit)
	stored := refusedIDs(answer.Refused)
	for i := range fit.Items {
		item := &fit.Items[i]
		if err != nil || stored[item.RequestID] || item.Final != proto.StateUnknown || item.Suspended != nil {
			r.folds.forget(item.RequestID)
		}
	}
	answer.Refused = append(answer.Refused, refused...)
	return answer, err
}

// save checks a report, stores it, and tells what came of it.
func (r *reporter) save(ctx context.Context, report proto.Report) (proto.ReportAnswer, error) {
	for i := range report.Items {
		if err := checkItem(&report.Items[i]); err != nil {
			return proto.ReportAnswer{}, err
		}
		failInterrupted(&report.Items[i])
	}
	refusals, err := r.store.SaveReport(ctx, report.Items)
	if err != nil {
		return proto.ReportAnswer{}, storeError(err, "")
	}
	for _, f := range refusals {
		r.log.Warn("report refused", "request", f.RequestID, "epoch", f.Epoch, "runner", report.RunnerID, "why", f.Message)
	}
	r.publish(&report, refusedIDs(refusals))
	return proto.ReportAnswer{Refused: refusals}, nil
}

// publish tells watchers, metrics and the other roles of a stored report.
func (r *reporter) publish(report *proto.Report, refused map[string]bool) {
	r.metrics.countReport(report.Items, refused)
	suspended := 0
	var left []string // the runner
	for i := range report.Items {
		item := &report.Items[i]
		r.changes.notify(item.RequestID)
		if item.Suspended == nil && item.Final == proto.StateUnknown {
			continue
		}
		left = append(left, item.RequestID)
		if item.Suspended == nil {
			continue
		}
		suspended++
		if report.RunnerID != "" && !refused[item.RequestID] { // our own is a replay itself
			r.compare(item.Suspended)
		}
	}
	if len(left) == 0 {
		return
	}
	r.changes.onEnd(left...) // a chain handed back ends if a stop was asked for
	r.fleet.release(report.RunnerID, len(left))
	if suspended > 0 {
		// The runner is shutting down or draining, which its next heartbeat says, if one
		// comes: what it has just handed back must not go to it again.
		r.fleet.suspect(report.RunnerID)
		wait.Nudge(r.resume)
	}
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
	if item.Final != proto.StateUnknown {
		if err := checkFinal(item.RequestID, item.Final); err != nil {
			return err
		}
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
