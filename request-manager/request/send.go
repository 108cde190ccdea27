package request

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// deliveryRate is how many bytes of a chain a runner is expected to accept in a
// second, at the least, beyond the delivery timeout.
const deliveryRate = 1 << 20

// unknownDelivery is logged of a chain that a runner may have or not.
const unknownDelivery = "the job runner did not answer; its next heartbeat, or the end of its lease, shows whether it has the request"

// sender delivers chains to runners.
type sender struct {
	store     *store.Store
	log       *slog.Logger
	fleet     *fleet
	reporter  *reporter
	runners   JobRunners
	tries     int
	retryWait time.Duration
	timeout   time.Duration
}

// start sends a new chain.
func (s *sender) start(ctx context.Context, runner proto.Runner, id string, epoch uint64, body []byte) (delivery, error) {
	return s.deliver(ctx, runner, len(body), func(ctx context.Context) error {
		return s.runners.StartChain(ctx, runner, id, epoch, body)
	})
}

// resume sends a chain that was suspended.
func (s *sender) resume(ctx context.Context, runner proto.Runner, id string, epoch uint64, body []byte) (delivery, error) {
	return s.deliver(ctx, runner, len(body), func(ctx context.Context) error {
		return s.runners.ResumeChain(ctx, runner, id, epoch, body)
	})
}

// deliver sends a chain of so many bytes to a runner until it answers: the same
// runner, the same epoch, so that accepting twice is harmless. If ctx ends, it does
// not try again.
func (s *sender) deliver(ctx context.Context, runner proto.Runner, size int, send func(context.Context) error) (outcome delivery, err error) {
	defer func() { s.fleet.sent(runner.ID, 1, outcome != refused) }()
	unanswered := false
	timeout := s.timeout + time.Duration(size)*time.Second/deliveryRate
	for try := 1; ; try++ {
		err = sendOnce(ctx, timeout, send)
		outcome = deliveryOf(err)
		if outcome == refused && unanswered && (isUnsent(err) || isAnother(err)) {
			outcome = unknown // this try did not get there, but an earlier one may have
		}
		if outcome == unknown || outcome == refused && !isUnfit(err) {
			s.fleet.suspect(runner.ID)
		}
		if outcome != unknown || try >= s.tries || isAnother(err) {
			return outcome, err
		}
		unanswered = true
		wait := time.NewTimer(s.retryWait)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return unknown, err
		}
		if s.fleet.isDead(runner.ID) {
			// The process that is at its address now would start again what the other one
			// may have done in part.
			return unknown, err
		}
	}
}

func sendOnce(ctx context.Context, timeout time.Duration, send func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	return send(ctx)
}

// failUnfit ends a request whose chain no runner will ever accept.
func (s *sender) failUnfit(ctx context.Context, id string, epoch uint64, reason string) {
	ctx = context.WithoutCancel(ctx)
	item := proto.ReportItem{RequestID: id, Epoch: epoch, Final: proto.StateFail, Reason: reason}
	if c, _, err := replay(ctx, s.store, id); err == nil {
		item.FinishedJobs = c.FinishedJobs()
	}
	if err := s.reporter.saveOne(ctx, item); err != nil {
		s.log.Warn("cannot fail the request; it is recovered later", "request", id, "epoch", epoch, "error", err)
	}
}

func whyRefused(runner proto.Runner, err error) string {
	return "job runner " + runner.URL + ": " + proto.Body(err).Message
}

// delivery is the outcome of sending a chain to a runner.
type delivery uint8

const (
	delivered delivery = iota // the runner has it
	refused                   // the runner does not have it
	unknown                   // no answer: it may have it
)

// deliveryOf reads the outcome off the error of a JobRunners call.
func deliveryOf(err error) delivery {
	if err == nil {
		return delivered
	}
	if isUnsent(err) {
		return refused
	}
	if e, ok := errors.AsType[*proto.Error](err); ok && e.Err == nil && e.Code != proto.CodeInternal {
		return refused
	}
	return unknown
}

// isUnsent reports whether a call failed before anything was sent.
func isUnsent(err error) bool {
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

// isAnother reports whether the answer came from another process than the runner.
func isAnother(err error) bool {
	e, ok := errors.AsType[*proto.Error](err)
	return ok && e.Err == nil && e.Code == proto.CodeNotFound
}

// isUnfit reports whether a runner refused because of what was sent: it will be the
// same with any other runner, and at any other time.
func isUnfit(err error) bool {
	e, ok := errors.AsType[*proto.Error](err)
	if !ok || e.Err != nil {
		return false
	}
	return e.Code == proto.CodeInvalid || e.Code == proto.CodeTooLarge || e.Code == proto.CodeUnprocessable
}
