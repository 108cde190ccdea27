package request

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/treadle-run/treadle/internal/mask"
	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

const (
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
	// maxBuried is how many dead runners are remembered.
	maxBuried = 1000
)

// recoverer finds requests that are RUNNING on runners that do not run them:
// runners that are no more, or that say that they do not have them. Their chains
// are computed from the job log and suspended; the Resumer goes on from there.
type recoverer struct {
	m    *Manager
	wake chan struct{}

	mu      sync.Mutex
	missing map[string]store.Held // by request id: what runners said they do not have
	forbids map[string]forbidden  // by request id

	// The rest is the loop's alone.

	// aside has the requests that could not be recovered, and until when they are
	// left alone.
	aside map[string]time.Time
	// heard has what was last heard of each runner, and when that was first read, by
	// the clock of this process: that of the database may be set.
	heard   map[string]heard
	looking bool // since the registry was read for the first time
	// buried has runners that were taken for dead because another process registered
	// at their address. A process that comes back after that shows that both live:
	// shared has the addresses of such runners, where the rule does not hold.
	buried map[string]burial
	shared map[string]bool
	// absent has runners that hold requests and are not registered, and since when that
	// is so: they were dead and forgotten when a manager that did not know it handed
	// something over to them, and ended itself.
	absent map[string]time.Time
}

// heard is a heartbeat as the registry had it, and when it was first read.
type heard struct {
	beat, at time.Time
	// live says that the heartbeat came while this manager looked on, not before.
	live bool
}

// burial is a process, and the one that took its place.
type burial struct {
	url      string
	was, now processName
}

// processName tells processes apart, across the IDs that one has had.
type processName struct {
	host string
	pid  int
}

func nameOf(r proto.Runner) processName { return processName{r.Host, r.PID} }

func (r *recoverer) run(ctx context.Context) {
	// healthySince is since when this manager has had the database without a break:
	// a runner is given up only if it could have been heard all that time.
	var healthySince time.Time
	r.aside, r.buried, r.shared = map[string]time.Time{}, map[string]burial{}, map[string]bool{}
	r.absent, r.heard = map[string]time.Time{}, map[string]heard{}
	every(ctx, time.Second, r.wake, func(ctx context.Context) {
		maps.DeleteFunc(r.aside, func(_ string, until time.Time) bool { return time.Now().After(until) })
		for _, h := range r.takeMissing() {
			r.recoverOne(ctx, h, "the job runner does not have it")
		}
		dead, err := r.deadRunners(ctx, healthySince)
		if err != nil {
			healthySince = time.Time{}
			clear(r.heard)
			r.looking = false
			if ctx.Err() == nil {
				r.m.log.Warn("cannot look for dead runners", "error", err)
			}
			return
		}
		if healthySince.IsZero() {
			healthySince = time.Now()
		}
		for id, d := range dead {
			r.recoverRunner(ctx, id, d)
		}
	})
}

// death is how it is known that a runner is dead.
type death struct {
	why string
	// buried, if not nil, says who took its place.
	buried *burial
}

// deadRunners returns the runners that can be running nothing any more, by id.
func (r *recoverer) deadRunners(ctx context.Context, healthySince time.Time) (map[string]death, error) {
	begun := time.Now() // this process may be frozen at any moment, the answer be old
	runners, err := r.m.store.Runners(ctx)
	if err != nil {
		return nil, err
	}
	silent := r.listen(runners, begun)
	newest := map[string]proto.Runner{}
	for _, x := range runners {
		r.findShared(x)
		if n, ok := newest[x.URL]; !ok || !x.StartedAt.Before(n.StartedAt) {
			newest[x.URL] = x
		}
	}
	limit := r.m.cfg.Lease + r.m.cfg.LeaseMargin
	dead := map[string]death{}
	for _, x := range runners {
		switch n := newest[x.URL]; {
		case n.ID == x.ID || !r.succeeds(n, x):
			if silent[x.ID] > limit {
				dead[x.ID] = death{why: fmt.Sprintf("its job runner has not been heard of for %s", silent[x.ID].Round(time.Second))}
			}
		case nameOf(n) == nameOf(x):
			dead[x.ID] = death{why: "its job runner lost its lease and has registered again"}
		default:
			dead[x.ID] = death{
				fmt.Sprintf("another process (%d on %s) is at the address of its job runner", n.PID, n.Host),
				&burial{x.URL, nameOf(x), nameOf(n)},
			}
		}
	}
	return dead, r.addAbsent(ctx, runners, dead, healthySince)
}

// listen returns for how long nothing new was heard of each runner, as of begun.
func (r *recoverer) listen(runners []proto.Runner, begun time.Time) map[string]time.Duration {
	silent := make(map[string]time.Duration, len(runners))
	looking := r.looking
	r.looking = true
	for _, x := range runners {
		last, ok := r.heard[x.ID]
		if !ok || !last.beat.Equal(x.HeartbeatAt) {
			r.heard[x.ID] = heard{x.HeartbeatAt, time.Now(), ok || looking}
			continue
		}
		silent[x.ID] = begun.Sub(last.at)
	}
	maps.DeleteFunc(r.heard, func(id string, _ heard) bool {
		return !slices.ContainsFunc(runners, func(x proto.Runner) bool { return x.ID == id })
	})
	return silent
}

// succeeds reports whether the newer runner has taken the place of the other one
// for certain: this manager has heard of it, and not of the other one since. When
// each registered says the clock of the database, which may be set.
func (r *recoverer) succeeds(newer, x proto.Runner) bool {
	n := r.heard[newer.ID]
	return n.live && !n.at.Before(r.heard[x.ID].at) && (nameOf(newer) == nameOf(x) || !r.shared[x.URL])
}

// findShared notices a process that is back at an address although another one
// had taken its place.
func (r *recoverer) findShared(x proto.Runner) {
	if r.shared[x.URL] {
		return
	}
	for _, b := range r.buried {
		if b.url == x.URL && b.was == nameOf(x) && b.now != nameOf(x) {
			r.shared[x.URL] = true
			r.m.log.Error("two job runners have the same URL: set server.url of each to an address of its own",
				"url", x.URL, "runner", x.ID, "host", x.Host)
			return
		}
	}
}

// addAbsent adds runners that hold requests and were given up before, and those
// that have not been registered for longer than their lease: one that lives
// registers with its next heartbeat.
func (r *recoverer) addAbsent(ctx context.Context, runners []proto.Runner, dead map[string]death, healthySince time.Time) error {
	holders, err := r.m.store.RunnerLoads(ctx)
	if err != nil {
		return err
	}
	for _, x := range runners {
		delete(holders, x.ID)
	}
	gone, err := r.m.store.GoneRunners(ctx, slices.Collect(maps.Keys(holders)))
	if err != nil {
		return err
	}
	for _, id := range gone {
		dead[id] = death{why: "its job runner was given up before"}
		delete(holders, id)
	}
	maps.DeleteFunc(r.absent, func(id string, _ time.Time) bool { return holders[id] == 0 })
	limit := r.m.cfg.Lease + r.m.cfg.LeaseMargin
	for id := range holders {
		since, ok := r.absent[id]
		if !ok {
			r.absent[id] = time.Now()
		} else if time.Since(since) > limit && !healthySince.IsZero() && time.Since(healthySince) > limit {
			dead[id] = death{why: "its job runner is not registered any more"}
		}
	}
	return nil
}

// recoverRunner recovers all that a dead runner held, and then forgets it.
func (r *recoverer) recoverRunner(ctx context.Context, id string, d death) {
	held, err := r.m.store.HeldBy(ctx, id)
	if err != nil {
		r.m.log.Warn("cannot read what a dead runner held", "runner", id, "error", err)
		return
	}
	if len(held) > maxRecover {
		held = held[:maxRecover]
		wait.Nudge(r.wake)
	}
	// Other managers do the same: in another order they do other ones first.
	rand.Shuffle(len(held), func(i, j int) { held[i], held[j] = held[j], held[i] })
	all := true
	for batch := range slices.Chunk(held, maxRecoverBatch) {
		all = r.recoverBatch(ctx, batch, d.why) && all
	}
	if !all || len(held) == maxRecover {
		return // those that are left are tried again later
	}
	if err := r.m.store.RemoveRunner(ctx, id); err != nil && !errors.Is(err, store.ErrNotFound) {
		r.m.log.Warn("cannot forget a dead runner", "runner", id, "error", err)
		return
	}
	if len(r.buried) >= maxBuried {
		clear(r.buried)
	}
	if d.buried != nil {
		r.buried[id] = *d.buried
	}
	r.m.fleet.bury(id)
	r.m.log.Info("dead job runner forgotten", "runner", id, "why", d.why, "recovered", len(held))
}

// errAside says that a request is left alone for now.
var errAside = errors.New("could not be recovered a short time ago")

// recoverBatch recovers requests in one transaction, and those that it cannot read
// or store so one by one. It reports whether none of them is left.
func (r *recoverer) recoverBatch(ctx context.Context, held []store.Held, why string) bool {
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
	var report proto.Report
	var singly []store.Held
	for i, h := range held {
		if errs[i] != nil {
			singly = append(singly, h)
		} else {
			report.Items = append(report.Items, items[i])
		}
	}
	var answer proto.ReportAnswer
	var err error
	if len(report.Items) > 0 {
		answer, err = r.m.Report(ctx, report)
	}
	switch {
	case err == nil:
		refused := refusedIDs(answer.Refused)
		for _, h := range held {
			if refused[h.RequestID] { // somebody else was first, or its log has grown
				singly = append(singly, h)
			}
		}
		for _, item := range report.Items {
			if !refused[item.RequestID] {
				r.m.log.Info("request recovered", "request", item.RequestID, "epoch", item.Epoch, "why", why, "final", item.Final)
			}
		}
	case proto.ErrorCode(err) == proto.CodeUnavailable:
		if ctx.Err() == nil {
			r.m.log.Warn("cannot recover requests now", "requests", len(held), "error", err)
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

// recoverOne recovers one request. One that cannot be recovered is set aside: it
// does not stop the others.
func (r *recoverer) recoverOne(ctx context.Context, h store.Held, why string) bool {
	if _, ok := r.aside[h.RequestID]; ok {
		return false
	}
	log := r.m.log.With("request", h.RequestID, "epoch", h.Epoch, "runner", h.RunnerID)
	var item proto.ReportItem
	var err error
	for range recoverTries {
		if item, err = r.recovered(ctx, h, why); err == nil {
			err = r.m.report(ctx, item)
		}
		if err == nil || proto.ErrorCode(err) != proto.CodeConflict {
			break
		}
		if now, err := r.m.store.Request(ctx, h.RequestID); err == nil && (now.State != proto.StateRunning || now.Epoch != h.Epoch) {
			return true // somebody else was first
		}
	}
	switch proto.ErrorCode(err) {
	case proto.CodeConflict:
		return false // its log grows still
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
	log.Info("request recovered", "why", why, "final", item.Final)
	return true
}

// recovered computes from the job log what becomes of a request whose runner is
// lost.
func (r *recoverer) recovered(ctx context.Context, h store.Held, why string) (proto.ReportItem, error) {
	item := proto.ReportItem{RequestID: h.RequestID, Epoch: h.Epoch}
	c, secrets, err := r.m.replay(ctx, h.RequestID)
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
	item.LogLength = &entries // what is on its way from the runner may come first
	return item, nil
}
