package request

import (
	"context"

	"github.com/treadle-run/treadle/proto"
)

// Finish ends a RUNNING request.
func (m *Manager) Finish(ctx context.Context, epoch uint64, f proto.Finish) error {
	if err := checkFinal(f.RequestID, f.State); err != nil {
		return err
	}
	return m.reporter.saveOne(ctx, proto.ReportItem{RequestID: f.RequestID, Epoch: epoch, Final: f.State, FinishedJobs: f.FinishedJobs})
}

func checkFinal(requestID string, s proto.State) error {
	if !s.Final() {
		return proto.Errorf(proto.CodeInvalid, "state %s: expected COMPLETE, FAIL or STOPPED", s).ForRequest(requestID)
	}
	return nil
}

// FailPending ends a PENDING request as FAIL.
func (m *Manager) FailPending(ctx context.Context, id, reason string) error {
	err := storeError(m.store.FailPending(ctx, id, reason), id)
	if err == nil {
		m.metrics.ended.WithLabelValues(proto.StateFail.String()).Inc()
	}
	m.changes.mayHaveEnded(id)
	return err
}
