package run

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
)

// How much one batch may have; it may be larger by one entry.
const (
	maxBatchItems = 500
	maxBatchBytes = 4 << 20
)

// reporter reports what happened to all chains to the RM. While one batch is on its
// way the next gathers: no timer, one outstanding batch.
type reporter struct {
	rm       RequestManager
	runnerID func() string
	room     func() // called when full() is no longer true
	limit    int64  // bytes of entries that wait
	log      *slog.Logger

	mu      sync.Mutex
	pending map[*chainRun]*proto.ReportItem
	order   []*chainRun
	wake    chan struct{}
	bytes   atomic.Int64 // of entries that are not durable yet
}

func newReporter(rm RequestManager, runnerID func() string, room func(), limit int64, log *slog.Logger) *reporter {
	return &reporter{
		rm: rm, runnerID: runnerID, room: room, log: log, limit: limit,
		pending: map[*chainRun]*proto.ReportItem{},
		wake:    make(chan struct{}, 1),
	}
}

// full reports whether so much waits to be reported that jobs should wait, too.
func (p *reporter) full() bool { return p.bytes.Load() > p.limit }

// add gives an item of a chain to the reporter. The chain's loop gets an ack for it.
// It does not block: a chain has at most one entry for each job that ran, and
// full() keeps more from starting.
func (p *reporter) add(c *chainRun, item proto.ReportItem) {
	p.mu.Lock()
	if c.refused {
		// What comes after a refused entry must not be stored: there would be a gap.
		p.mu.Unlock()
		return
	}
	p.bytes.Add(entriesSize(item.Entries))
	if old := p.pending[c]; old != nil {
		old.Entries = append(old.Entries, item.Entries...)
		old.FinishedJobs, old.Final, old.Reason, old.Suspended = item.FinishedJobs, item.Final, item.Reason, item.Suspended
	} else {
		item.RequestID, item.Epoch = c.id, c.epoch
		p.pending[c] = &item
		p.order = append(p.order, c)
	}
	p.mu.Unlock()
	wait.Nudge(p.wake)
}

func entriesSize(entries []proto.JobLog) int64 {
	var n int64
	for i := range entries {
		e := &entries[i]
		n += int64(len(e.Stdout)+len(e.Stderr)+len(e.StdoutBytes)+len(e.StderrBytes)+len(e.Error)) + 256
	}
	return n
}

// batch is one report on its way.
type batch struct {
	chains []*chainRun
	report proto.Report
	bytes  int64
}

// take gathers what waits, oldest first.
func (p *reporter) take() *batch {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := &batch{report: proto.Report{RunnerID: p.runnerID()}}
	for len(p.order) > 0 && len(b.chains) < maxBatchItems && b.bytes < maxBatchBytes {
		c := p.order[0]
		item := *p.pending[c]
		if n := fitting(item.Entries, maxBatchBytes-b.bytes); n < len(item.Entries) {
			// The rest, and what happens after it, goes with the next batch.
			p.pending[c].Entries = item.Entries[n:]
			item.Entries = item.Entries[:n:n]
			item.Final, item.Reason, item.Suspended = proto.StateUnknown, "", nil
		} else {
			delete(p.pending, c)
			p.order = p.order[1:]
		}
		b.chains = append(b.chains, c)
		b.report.Items = append(b.report.Items, item)
		b.bytes += entriesSize(item.Entries)
	}
	if len(p.order) == 0 {
		p.order = nil
	}
	return b
}

// fitting returns how many entries, at least one, have that many bytes or just
// more.
func fitting(entries []proto.JobLog, bytes int64) int {
	for i := range entries {
		if bytes -= entriesSize(entries[i : i+1]); bytes <= 0 {
			return i + 1
		}
	}
	return len(entries)
}

// run reports until ctx ends.
func (p *reporter) run(ctx context.Context) {
	for {
		b := p.take()
		if len(b.chains) == 0 {
			select {
			case <-p.wake:
				continue
			case <-ctx.Done():
				return
			}
		}
		answer, err := p.send(ctx, b.report)
		if err != nil && ctx.Err() == nil {
			answer = p.sendSingly(ctx, b.report)
		}
		if ctx.Err() != nil {
			return
		}
		p.done(b, answer)
	}
}

// done tells the loops what became of a batch.
func (p *reporter) done(b *batch, answer proto.ReportAnswer) {
	free := b.bytes + p.acknowledge(b, answer)
	if left := p.bytes.Add(-free); left <= p.limit && left+free > p.limit {
		p.room()
	}
}

// send sends a report until the RM answers. An error is the RM's final word on
// the report as a whole, or ctx ended.
func (p *reporter) send(ctx context.Context, r proto.Report) (proto.ReportAnswer, error) {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = 50*time.Millisecond, 2*time.Second
	return backoff.Retry(ctx, func() (proto.ReportAnswer, error) {
		answer, err := p.rm.Report(ctx, r)
		if err != nil && !mayPass(err) {
			err = backoff.Permanent(err)
		}
		return answer, err
	}, backoff.WithBackOff(pause), backoff.WithMaxElapsedTime(0), backoff.WithNotify(func(err error, next time.Duration) {
		p.log.Warn("report not delivered, trying again", "items", len(r.Items), "wait", next, "error", err)
	}))
}

// mayPass reports whether the same report may be accepted another time.
func mayPass(err error) bool {
	e, ok := errors.AsType[*proto.Error](err)
	if !ok {
		return true
	}
	switch e.Code {
	case proto.CodeInvalid, proto.CodeTooLarge, proto.CodeUnprocessable:
		return false
	}
	return true
}

// sendSingly finds the items that the RM cannot take, so that they do not stop
// the others.
func (p *reporter) sendSingly(ctx context.Context, r proto.Report) proto.ReportAnswer {
	var all proto.ReportAnswer
	for _, item := range r.Items {
		answer, err := p.send(ctx, proto.Report{RunnerID: r.RunnerID, Items: []proto.ReportItem{item}})
		if ctx.Err() != nil {
			return all
		}
		if err != nil {
			p.log.Error("the request manager rejected a report", "request", item.RequestID, "epoch", item.Epoch, "error", err)
			all.Refused = append(all.Refused, proto.Refusal{RequestID: item.RequestID, Epoch: item.Epoch, Message: err.Error()})
			continue
		}
		all.Refused = append(all.Refused, answer.Refused...)
	}
	return all
}

// acknowledge returns how many bytes that waited are not reported any more, because
// their chain was refused.
func (p *reporter) acknowledge(b *batch, answer proto.ReportAnswer) (dropped int64) {
	refused := make(map[string]string, len(answer.Refused))
	for _, r := range answer.Refused {
		refused[r.RequestID] = cmp.Or(r.Message, "refused without a reason")
	}
	for i, c := range b.chains {
		item := &b.report.Items[i]
		why := refused[item.RequestID]
		if why != "" {
			dropped += p.drop(c)
		}
		c.acknowledge(ack{
			entries: len(item.Entries),
			end:     why == "" && (item.Final != proto.StateUnknown || item.Suspended != nil),
			refused: why,
		})
	}
	return dropped
}

// drop takes nothing of a chain any more and forgets what waits; it returns how
// many bytes that is.
func (p *reporter) drop(c *chainRun) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.refused = true
	item := p.pending[c]
	if item == nil {
		return 0
	}
	delete(p.pending, c)
	p.order = slices.DeleteFunc(p.order, func(x *chainRun) bool { return x == c })
	return entriesSize(item.Entries)
}
