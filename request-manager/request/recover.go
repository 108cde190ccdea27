package request

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/treadle-run/treadle/internal/mask"
	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/liveness"
	"github.com/treadle-run/treadle/request-manager/store"
)

const (
	// recoverEvery is the interval of the search for dead runners.
	recoverEvery = time.Second
	// maxRecover is how many requests are recovered in one go.
	maxRecover = 1000
	// maxRecoverBatch is how many of them go into one transaction, and maxReplays how
	// many job logs are replayed at a time.
	maxRecoverBatch = 50
	maxReplays      = 4
	// recoverTries is how often a request is tried whose log grows meanwhile.
	recoverTries = 3
	// asideFor is how long a request that cannot be recovered is left alone.
	asideFor = time.Minute
)

// recoverer recovers requests that are RUNNING on runners that do not run them:
// runners that are dead, or that say that they do not have them. Their chains
// are computed from the job log and suspended; the resumer goes on from there.
type recoverer struct {
	store    *store.Store
	log      *slog.Logger
	reporter *reporter
	missing  *missingChains
	markDead func(runnerID string)
	limit    time.Duration // a runner not seen for longer is dead
	wake     chan struct{}

	// aside has the requests that could not be recovered, and until when they are left
	// alone. Only the loop uses it.
	aside map[string]time.Time
}

func (r *recoverer) run(ctx context.Context) {
	known := liveness.NewSightings()
	r.aside = map[string]time.Time{}
	every(ctx, recoverEvery, r.wake, func(ctx context.Context) {
		maps.DeleteFunc(r.aside, func(_ string, until time.Time) bool { return time.Now().After(until) })
		for _, h := range r.missing.take() {
			r.recoverOne(ctx, h, "the job runner does not have it")
		}
		now := time.Now() // before the read: this process may be frozen at any moment
		snapshot, err := r.look(ctx, known)
		if err != nil {
			known.Interrupt()
			if ctx.Err() == nil {
				r.log.Warn("cannot look for dead job runners", "error", err)
			}
			return
		}
		for id, d := range liveness.Detect(snapshot, now, r.limit) {
			if r.recoverRunner(ctx, id, d.Why) && d.Takeover != nil {
				known.RecordTakeover(id, *d.Takeover)
			}
		}
	})
}

// look reads the registry and which runners hold requests, adds that to what is known,
// and returns the whole.
func (r *recoverer) look(ctx context.Context, known *liveness.Sightings) (liveness.Snapshot, error) {
	runners, err := r.store.Runners(ctx)
	if err != nil {
		return liveness.Snapshot{}, err
	}
	for _, x := range known.Record(runners) {
		r.log.Error("two job runners have the same URL: set server.url of each to an address of its own",
			"url", x.URL, "runner", x.ID, "host", x.Host)
	}
	absent, err := r.store.RunnerLoads(ctx)
	if err != nil {
		return liveness.Snapshot{}, err
	}
	for _, x := range runners {
		delete(absent, x.ID)
	}
	recorded, err := r.store.GoneRunners(ctx, slices.Collect(maps.Keys(absent)))
	if err != nil {
		return liveness.Snapshot{}, err
	}
	for _, id := range recorded {
		delete(absent, id)
	}
	known.RecordAbsent(absent)
	if known.DatabaseSince.IsZero() {
		known.DatabaseSince = time.Now()
	}
	return known.Snapshot(runners, recorded), nil
}

// recoverRunner recovers all that a dead runner held, and then takes it out of the
// registry. It reports whether it removed it.
func (r *recoverer) recoverRunner(ctx context.Context, id, why string) bool {
	held, err := r.store.HeldBy(ctx, id)
	if err != nil {
		r.log.Warn("cannot read what a dead job runner held", "runner", id, "error", err)
		return false
	}
	if len(held) > maxRecover {
		held = held[:maxRecover]
		wait.Nudge(r.wake)
	}
	// Other managers do the same: in random order they rarely meet.
	rand.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
	all := true
	for batch := range slices.Chunk(held, maxRecoverBatch) {
		all = r.recoverBatch(ctx, batch, why) && all
	}
	if !all || len(held) == maxRecover {
		return false // those that are left are tried again later
	}
	if err := r.store.RemoveRunner(ctx, id); err != nil && !errors.Is(err, store.ErrNotFound) {
		r.log.Warn("cannot remove a dead job runner", "runner", id, "error", err)
		return false
	}
	r.markDead(id)
	r.log.Info("lost job runner removed", "runner", id, "why", why, "recovered", len(held))
	return true
}

// errAside says that a request is left alone for now.
var errAside = errors.New("could not be recovered a short time ago")

// recoverBatch recovers requests in one transaction, and those that it cannot read
// or store so one by one. It reports whether none of them is left.
func (r *recoverer) recoverBatch(ctx context.Context, held []store.Held, why string) bool {
	report, singly := r.replayAll(ctx, held, why)
	var answer proto.ReportAnswer
	var err error
	if len(report.Items) > 0 {
		answer, err = r.reporter.save(ctx, report)
	}
	switch {
	case err == nil:
		refused := refusedIDs(answer.Refused)
		for _, h := range held {
			if refused[h.RequestID] { // another manager was first, or its log has grown
				singly = append(singly, h)
			}
		}
		for _, item := range report.Items {
			if !refused[item.RequestID] {
				r.log.Info("request recovered", "request", item.RequestID, "epoch", item.Epoch, "why", why, "state", recoveredState(item))
			}
		}
	case proto.ErrorCode(err) == proto.CodeUnavailable:
		if ctx.Err() == nil {
			r.log.Warn("cannot recover requests now", "requests", len(held), "error", err)
		}
		return false
	default:
		singly = held
	}
	all := true
	for _, h := range singly {
		all = r.recoverOne(ctx, h, why) && all
	}
	return all
}

// replayAll computes what becomes of requests, several at a time, and returns those of
// which it cannot tell.
func (r *recoverer) replayAll(ctx context.Context, held []store.Held, why string) (report proto.Report, failed []store.Held) {
	var (
		replays sync.WaitGroup
		slots   = make(chan struct{}, maxReplays)
		items   = make([]proto.ReportItem, len(held))
		errs    = make([]error, len(held))
	)
	for i, h := range held {
		if _, ok := r.aside[h.RequestID]; ok {
			errs[i] = errAside
			continue
		}
		slots <- struct{}{}
		replays.Go(func() {
			defer func() { <-slots }()
			items[i], errs[i] = r.recovered(ctx, h, why)
		})
	}
	replays.Wait()
	for i, h := range held {
		if errs[i] != nil {
			failed = append(failed, h)
		} else {
			report.Items = append(report.Items, items[i])
		}
	}
	return report, failed
}

// recoverOne recovers one request. One that cannot be recovered is set aside: it
// does not stop the others.
func (r *recoverer) recoverOne(ctx context.Context, h store.Held, why string) bool {
	if _, ok := r.aside[h.RequestID]; ok {
		return false
	}
	log := r.log.With("request", h.RequestID, "epoch", h.Epoch, "runner", h.RunnerID)
	var item proto.ReportItem
	var err error
	for range recoverTries {
		if item, err = r.recovered(ctx, h, why); err == nil {
			err = r.reporter.saveOne(ctx, item)
		}
		if err == nil || proto.ErrorCode(err) != proto.CodeConflict {
			break
		}
		if now, err := r.store.Request(ctx, h.RequestID); err == nil && (now.State != proto.StateRunning || now.Epoch != h.Epoch) {
			return true // another manager was first
		}
	}
	switch proto.ErrorCode(err) {
	case proto.CodeConflict:
		return false // its log is still growing
	case proto.CodeUnavailable:
		if ctx.Err() == nil {
			log.Warn("cannot recover the request now", "error", err)
		}
		return false
	}
	if err != nil {
		if ctx.Err() == nil {
			log.Error("cannot recover the request", "error", err, "again_in", asideFor)
			r.aside[h.RequestID] = time.Now().Add(asideFor)
		}
		return false
	}
	log.Info("request recovered", "why", why, "state", recoveredState(item))
	return true
}

// recoveredState is the state that a request has once it is recovered.
func recoveredState(item proto.ReportItem) proto.State {
	if item.Final == proto.StateUnknown {
		return proto.StateSuspended
	}
	return item.Final
}

// recovered computes from the job log what becomes of a request whose runner is
// lost.
func (r *recoverer) recovered(ctx context.Context, h store.Held, why string) (proto.ReportItem, error) {
	item := proto.ReportItem{RequestID: h.RequestID, Epoch: h.Epoch}
	c, secrets, err := replay(ctx, r.store, h.RequestID)
	if isBroken(err) {
		return r.unreadable(ctx, item, err)
	}
	if err != nil {
		return item, err
	}
	lost, err := notIdempotent(c)
	if err != nil {
		return item, err
	}
	if state, done := c.Done(); done {
		// Its last entry came, its end did not.
		item.Final, item.Reason = state, c.Reason()
	} else if len(lost) > 0 {
		item.Final = proto.StateFail
		item.Reason = fmt.Sprintf("%s while it ran, or may have run, jobs that must not run twice (idempotent: false): %s", why, strings.Join(lost, ", "))
	} else {
		item.Suspended, item.Reason = c.Suspended(), why
	}
	item.Reason = mask.New(secrets).Text(item.Reason)
	item.FinishedJobs = c.FinishedJobs()
	entries := c.Entries()
	item.LogLength = &entries // a report that is still on its way may be stored first
	return item, nil
}

// unreadable ends a request whose chain or log cannot be read: what it has done cannot
// be told, and nobody could ever go on with it.
func (r *recoverer) unreadable(ctx context.Context, item proto.ReportItem, why error) (proto.ReportItem, error) {
	now, err := r.store.Request(ctx, item.RequestID)
	if err != nil {
		return item, storeError(err, item.RequestID)
	}
	item.Final, item.FinishedJobs = proto.StateFail, now.FinishedJobs
	item.Reason = "the stored job chain or job log cannot be read, so that the request cannot be resumed: " + errors.Unwrap(why).Error()
	r.log.Error("ending a request whose stored job chain or job log cannot be read", "request", item.RequestID, "error", why)
	return item, nil
}
