package request

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

const (
	maxDispatchBatch = 100
	// maxDeliveries is how many chains are on their way to one runner at a time: a
	// runner that hangs must not hold up what goes to others.
	maxDeliveries = 128
	// scanEvery is how often the store is asked for requests that other managers left
	// PENDING, or that did not fit the queue.
	scanEvery = time.Second
	// scanAge leaves to their own managers what these have just created.
	scanAge = 2 * time.Second
)

// dispatch sends what is PENDING to runners, until ctx ends.
func (m *Manager) dispatch(ctx context.Context) {
	d := &dispatcher{m: m}
	scan := time.NewTicker(scanEvery)
	defer scan.Stop()
	d.scan(ctx)
	for {
		d.sendAll(ctx)
		select {
		case <-m.queue.wake:
		case <-scan.C:
			d.scan(ctx)
		case <-m.newHost:
			d.scan(ctx)
		case <-ctx.Done():
			d.deliveries.Wait()
			return
		}
	}
}

// dispatcher is the state of the dispatch loop.
type dispatcher struct {
	m          *Manager
	deliveries sync.WaitGroup
}

// scan reads what is PENDING and can be sent now: that of hosts without room would
// hide the rest, if there is much of it.
func (d *dispatcher) scan(ctx context.Context) {
	d.m.queue.keep(d.m.fleet.isThere)
	pending, err := d.m.store.PendingRequests(ctx, scanAge, maxQueued, d.m.fleet.hostsWithRoom()...)
	if err != nil {
		if ctx.Err() == nil {
			d.m.log.Warn("cannot read what is PENDING", "error", err)
		}
		return
	}
	for _, p := range pending {
		d.m.queue.add(pendingRequest{id: p.RequestID, epoch: p.Epoch, host: p.Host})
	}
}

// enqueue has a PENDING request sent. What waits for a host that is away is left to
// the scan.
func (m *Manager) enqueue(r pendingRequest) {
	if r.host == "" || m.fleet.isThere(r.host) {
		m.queue.add(r)
	}
}

// sendAll sends what waits, as far as there are runners with room: the next
// heartbeat wakes the loop for the rest.
func (d *dispatcher) sendAll(ctx context.Context) {
	for ctx.Err() == nil {
		byRunner, runners := d.assign()
		if len(runners) == 0 {
			return
		}
		for id, rs := range byRunner {
			d.handOver(ctx, runners[id], rs)
		}
	}
}

// assign takes a batch out of the queue and chooses a runner for each request.
func (d *dispatcher) assign() (byRunner map[string][]pendingRequest, runners map[string]proto.Runner) {
	byRunner, runners = map[string][]pendingRequest{}, map[string]proto.Runner{}
	closed := map[string]bool{} // hosts without room
	for sent := 0; sent < maxDispatchBatch; {
		r, ok := d.m.queue.take(closed)
		if !ok {
			break
		}
		runner, ok := d.m.fleet.pick(r.host)
		if !ok {
			d.m.queue.putBack(r)
			if r.host == "" {
				break // then no host has room
			}
			closed[r.host] = true
			continue
		}
		runners[runner.ID] = runner
		byRunner[runner.ID] = append(byRunner[runner.ID], r)
		sent++
	}
	return byRunner, runners
}

// handOver marks requests RUNNING on a runner, in one transaction, and then
// sends them. A request that another manager or a stop took first is not ours to
// send. What was begun is ended also if ctx ends: a request that is RUNNING and
// was not sent takes long to be found.
func (d *dispatcher) handOver(ctx context.Context, runner proto.Runner, rs []pendingRequest) {
	handovers := make([]store.Handover, len(rs))
	for i, r := range rs {
		handovers[i] = store.Handover{RequestID: r.id, Epoch: r.epoch}
	}
	taken, err := d.m.store.Dispatch(context.WithoutCancel(ctx), handovers, runner.ID, runner.URL)
	if err != nil {
		d.m.log.Warn("cannot hand requests over; the scan will find them", "requests", len(rs), "runner", runner.ID, "error", err)
		d.m.fleet.sent(runner.ID, len(rs), false)
		return
	}
	for _, r := range rs {
		if !slices.Contains(taken, r.id) {
			d.m.fleet.sent(runner.ID, 1, false)
			continue
		}
		d.m.changes.notify(r.id)
		d.deliveries.Go(func() { d.send(ctx, runner, r) })
	}
}

// send brings one chain, RUNNING under its new epoch, to its runner.
func (d *dispatcher) send(ctx context.Context, runner proto.Runner, r pendingRequest) {
	m, epoch := d.m, r.epoch+1
	log := m.log.With("request", r.id, "runner", runner.ID, "epoch", epoch)
	body := r.body
	if body == nil {
		var err error
		if body, err = m.store.Chain(context.WithoutCancel(ctx), r.id); err != nil {
			log.Error("cannot read the job chain", "error", err)
			m.fleet.sent(runner.ID, 1, false)
			m.giveBack(ctx, r.id, epoch, "the job chain could not be read")
			return
		}
	}
	outcome, err := m.deliver(ctx, runner, len(body), func(ctx context.Context) error {
		return m.cfg.Runners.StartChain(ctx, runner, r.id, epoch, body)
	})
	switch outcome {
	case delivered:
		log.Debug("request sent")
	case refused:
		log.Info("the job runner did not take the request", "error", err)
		if isUnfit(err) {
			m.failUnfit(ctx, r.id, epoch, whyRefused(runner, err))
			return
		}
		m.giveBack(ctx, r.id, epoch, whyRefused(runner, err))
	case unknown:
		log.Warn("the job runner did not answer; whether it has the request shows with its next heartbeat, or its lease", "error", err)
	}
}

// deliveryRate is how many bytes of a chain a runner is expected to take in a
// second, at the least, beyond the delivery timeout.
const deliveryRate = 1 << 20

// deliver sends a chain of so many bytes to a runner until it answers: the same runner, the
// same epoch, so that accepting twice is harmless. If ctx ends, it does not try
// again.
func (m *Manager) deliver(ctx context.Context, runner proto.Runner, size int, send func(context.Context) error) (outcome delivery, err error) {
	defer func() { m.fleet.sent(runner.ID, 1, outcome != refused) }()
	unanswered := false
	timeout := m.cfg.DeliveryTimeout + time.Duration(size)*time.Second/deliveryRate
	for try := 1; ; try++ {
		err = sendOnce(ctx, timeout, send)
		outcome = deliveryOf(err)
		if outcome == refused && unanswered && (isUnsent(err) || isAnother(err)) {
			outcome = unknown // this try did not get there, but an earlier one may have
		}
		if outcome == unknown || outcome == refused && !isUnfit(err) {
			m.fleet.suspect(runner.ID)
		}
		if outcome != unknown || try >= m.cfg.RunnerTries || isAnother(err) {
			return outcome, err
		}
		unanswered = true
		wait := time.NewTimer(m.cfg.RunnerRetryWait)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return unknown, err
		}
		if m.fleet.isGone(runner.ID) {
			// Who is at its address now would begin again what the other may have done
			// in part.
			return unknown, err
		}
	}
}

func sendOnce(ctx context.Context, timeout time.Duration, send func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	return send(ctx)
}

func whyRefused(runner proto.Runner, err error) string {
	return "job runner " + runner.URL + ": " + proto.Body(err).Message
}

// failUnfit ends a request whose chain no runner will ever take.
func (m *Manager) failUnfit(ctx context.Context, id string, epoch uint64, reason string) {
	ctx = context.WithoutCancel(ctx)
	item := proto.ReportItem{RequestID: id, Epoch: epoch, Final: proto.StateFail, Reason: reason}
	if c, _, err := m.replay(ctx, id); err == nil {
		item.FinishedJobs = c.FinishedJobs()
	}
	if err := m.report(ctx, item); err != nil {
		m.log.Warn("cannot fail the request; it is recovered later", "request", id, "epoch", epoch, "error", err)
	}
}

// giveBack makes a request that no runner took PENDING again.
func (m *Manager) giveBack(ctx context.Context, id string, epoch uint64, reason string) {
	if err := m.store.Return(context.WithoutCancel(ctx), id, epoch, reason); err != nil {
		m.log.Warn("cannot give the request back; it is recovered later", "request", id, "epoch", epoch, "error", err)
		return
	}
	m.mayHaveEnded(id) // if a stop was asked for
	// It waits for the next scan: a runner that refuses is not asked in a loop.
}
