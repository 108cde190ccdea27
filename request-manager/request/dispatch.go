package request

import (
	"context"
	"log/slog"
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

// dispatcher hands PENDING requests over to runners.
type dispatcher struct {
	store   *store.Store
	log     *slog.Logger
	fleet   *fleet
	queue   *dispatchQueue
	sender  *sender
	changes *changes
	scanNow <-chan struct{} // a host has a runner that had none

	deliveries sync.WaitGroup
}

// enqueue has a PENDING request sent. A request that waits for a host without a
// runner is left to the scan.
func (d *dispatcher) enqueue(r pendingRequest) {
	if r.host == "" || d.fleet.hasRunner(r.host) {
		d.queue.add(r)
	}
}

// run sends what is PENDING to runners, until ctx ends and all deliveries have
// ended.
func (d *dispatcher) run(ctx context.Context) {
	tick := time.NewTicker(scanEvery)
	defer tick.Stop()
	d.scan(ctx)
	for {
		d.sendAll(ctx)
		select {
		case <-d.queue.wake:
		case <-tick.C:
			d.scan(ctx)
		case <-d.scanNow:
			d.scan(ctx)
		case <-ctx.Done():
			d.deliveries.Wait()
			return
		}
	}
}

// scan reads what is PENDING and can be sent now: that of hosts without room would
// hide the rest, if there is much of it.
func (d *dispatcher) scan(ctx context.Context) {
	d.queue.keep(d.fleet.hasRunner)
	pending, err := d.store.PendingRequests(ctx, scanAge, maxQueued, d.fleet.hostsWithRoom()...)
	if err != nil {
		if ctx.Err() == nil {
			d.log.Warn("cannot read PENDING requests", "error", err)
		}
		return
	}
	for _, p := range pending {
		d.queue.add(pendingRequest{id: p.RequestID, epoch: p.Epoch, host: p.Host})
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
	full := map[string]bool{} // hosts without room
	for sent := 0; sent < maxDispatchBatch; {
		r, ok := d.queue.take(full)
		if !ok {
			break
		}
		runner, ok := d.fleet.pick(r.host)
		if !ok {
			d.queue.putBack(r)
			if r.host == "" {
				break // then no host has room
			}
			full[r.host] = true
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
// send. In-flight work completes also if ctx ends: a request that is RUNNING and
// was not sent takes long to be found.
func (d *dispatcher) handOver(ctx context.Context, runner proto.Runner, rs []pendingRequest) {
	handovers := make([]store.Handover, len(rs))
	for i, r := range rs {
		handovers[i] = store.Handover{RequestID: r.id, Epoch: r.epoch}
	}
	taken, err := d.store.Dispatch(context.WithoutCancel(ctx), handovers, runner.ID, runner.URL)
	if err != nil {
		d.log.Warn("cannot hand requests over; the next scan finds them", "requests", len(rs), "runner", runner.ID, "error", err)
		d.fleet.sent(runner.ID, len(rs), false)
		return
	}
	for _, r := range rs {
		if !slices.Contains(taken, r.id) {
			d.fleet.sent(runner.ID, 1, false)
			continue
		}
		d.changes.notify(r.id)
		d.deliveries.Go(func() { d.send(ctx, runner, r) })
	}
}

// send brings one chain, RUNNING under its new epoch, to its runner.
func (d *dispatcher) send(ctx context.Context, runner proto.Runner, r pendingRequest) {
	epoch := r.epoch + 1
	log := d.log.With("request", r.id, "runner", runner.ID, "epoch", epoch)
	body := r.body
	if body == nil {
		var err error
		if body, err = d.store.Chain(context.WithoutCancel(ctx), r.id); err != nil {
			log.Error("cannot read the job chain", "error", err)
			d.fleet.sent(runner.ID, 1, false)
			d.returnToPending(ctx, r.id, epoch, "the job chain could not be read")
			return
		}
	}
	outcome, err := d.sender.start(ctx, runner, r.id, epoch, body)
	switch outcome {
	case delivered:
		log.Debug("request sent")
	case refused:
		log.Info("the job runner refused the request", "error", err)
		if isUnfit(err) {
			d.sender.failUnfit(ctx, r.id, epoch, whyRefused(runner, err))
			return
		}
		d.returnToPending(ctx, r.id, epoch, whyRefused(runner, err))
	case unknown:
		log.Warn(unknownDelivery, "error", err)
	}
}

// returnToPending makes a request that no runner accepted PENDING again. It waits
// for the next scan: a runner that refuses is not asked in a loop.
func (d *dispatcher) returnToPending(ctx context.Context, id string, epoch uint64, reason string) {
	if err := d.store.Return(context.WithoutCancel(ctx), id, epoch, reason); err != nil {
		d.log.Warn("cannot make the request PENDING again; it is recovered later", "request", id, "epoch", epoch, "error", err)
		return
	}
	d.changes.mayHaveEnded(id) // if a stop was asked for
}
