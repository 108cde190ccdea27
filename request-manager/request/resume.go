package request

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

const (
	// maxResumes is how many chains are resumed at a time.
	maxResumes = 16
	// maxResumeBatch is how many are looked up at a time.
	maxResumeBatch = 1000
)

// Resumer suspends, claims, resumes and cleans up suspended job chains.
type Resumer struct {
	m    *Manager
	wake chan struct{}
}

func (r *Resumer) run(ctx context.Context) {
	every(ctx, r.m.cfg.ResumeEvery, r.wake, func(ctx context.Context) {
		if err := r.ResumeAll(ctx); err != nil && ctx.Err() == nil {
			r.m.log.Warn("cannot resume suspended job chains", "error", err)
		}
	})
}

// cleanUp does not wait for runners, as run may.
func (r *Resumer) cleanUp(ctx context.Context) {
	every(ctx, r.m.cfg.ResumeEvery, nil, func(ctx context.Context) {
		if err := r.Cleanup(ctx); err != nil && ctx.Err() == nil {
			r.m.log.Warn("cannot clean up suspended job chains", "error", err)
		}
	})
}

// Suspend stores a suspended job chain and makes its request SUSPENDED, in one
// transaction.
func (r *Resumer) Suspend(ctx context.Context, epoch uint64, sjc *proto.SuspendedJobChain) error {
	item := proto.ReportItem{RequestID: sjc.RequestID, Epoch: epoch, Suspended: sjc}
	if sjc.JobChain != nil {
		item.FinishedJobs = sjc.JobChain.FinishedJobs
	}
	return r.m.report(ctx, item)
}

// ResumeAll resumes unclaimed chains in random order, several at a time, until
// none is left, no runner takes any, or ctx ends.
func (r *Resumer) ResumeAll(ctx context.Context) error {
	if !r.m.fleet.any() {
		return nil
	}
	// What waits for a host without room is left out: it would hide the rest.
	found, err := r.m.store.UnclaimedSJCs(ctx, r.m.cfg.ttl(), maxResumeBatch, r.m.fleet.hostsWithRoom()...)
	if err != nil {
		return err
	}
	var (
		resumes sync.WaitGroup
		resumed atomic.Int64
		slots   = make(chan struct{}, maxResumes)
	)
	for _, s := range found {
		slots <- struct{}{}
		if ctx.Err() != nil || !r.m.fleet.any() {
			break
		}
		resumes.Go(func() {
			defer func() { <-slots }()
			done, err := r.resume(ctx, s.RequestID, s.Host)
			if err != nil && ctx.Err() == nil {
				r.m.log.Warn("cannot resume a suspended job chain", "request", s.RequestID, "error", err)
			}
			if done {
				resumed.Add(1)
			}
		})
	}
	resumes.Wait()
	if len(found) == maxResumeBatch && resumed.Load() > 0 {
		wait.Nudge(r.wake) // there may be more
	}
	return nil
}

// Resume claims one suspended job chain and sends it to a runner. It is no error
// if somebody else has claimed it, or no runner takes it now.
func (r *Resumer) Resume(ctx context.Context, id string) error {
	q, err := r.m.store.Request(ctx, id)
	if err != nil {
		return err
	}
	_, err = r.resume(ctx, id, q.Host)
	return err
}

// resume reports whether the request is RUNNING again. What was begun is ended
// also if ctx ends.
func (r *Resumer) resume(ctx context.Context, id, host string) (bool, error) {
	runner, ok := r.m.fleet.pick(host)
	if !ok {
		return false, nil
	}
	work := context.WithoutCancel(ctx)
	sjc, err := r.take(work, id, runner)
	if err != nil {
		r.m.fleet.sent(runner.ID, 1, false)
		if errors.Is(err, store.ErrNotUpdated) || errors.Is(err, store.ErrNotFound) {
			return false, nil // claimed by another manager, stopped or expired
		}
		return false, err
	}
	epoch := sjc.Epoch + 1
	r.m.changes.notify(id)
	log := r.m.log.With("request", id, "runner", runner.ID, "epoch", epoch)
	outcome, err := r.m.deliver(ctx, runner, len(sjc.Body), func(ctx context.Context) error {
		return r.m.cfg.Runners.ResumeChain(ctx, runner, id, epoch, sjc.Body)
	})
	switch outcome {
	case delivered:
		log.Info("request resumed")
	case refused:
		log.Info("the job runner did not take the suspended request", "error", err)
		if isUnfit(err) {
			r.m.failUnfit(ctx, id, epoch, whyRefused(runner, err))
			return false, nil
		}
		err := r.m.store.Suspend(work, id, epoch, sjc.Since, sjc.Body, sealed(sjc.Body), whyRefused(runner, err))
		r.m.mayHaveEnded(id) // if a stop was asked for
		return false, err
	case unknown:
		log.Warn("the job runner did not answer; whether it has the request shows with its next heartbeat, or its lease", "error", err)
	}
	return true, nil
}

// take claims an SJC and hands its request to the runner, in the store.
func (r *Resumer) take(ctx context.Context, id string, runner proto.Runner) (store.SJC, error) {
	sjc, err := r.m.store.ClaimSJC(ctx, id, r.m.cfg.Host)
	if err != nil {
		return sjc, err
	}
	err = r.m.store.Resume(ctx, id, sjc.Epoch, r.m.cfg.Host, runner.ID, runner.URL)
	if err != nil && !errors.Is(err, store.ErrNotUpdated) {
		if e := r.m.store.UnclaimSJC(ctx, id, r.m.cfg.Host); e != nil && !errors.Is(e, store.ErrNotUpdated) {
			err = errors.Join(err, e)
		}
	}
	return sjc, err
}

// sealed reports whether the chain of an SJC has secrets.
func sealed(body []byte) bool {
	var s struct {
		JobChain struct {
			Secrets []string `json:"secrets"`
		} `json:"jobChain"`
	}
	// What cannot be read is sealed: the safe side.
	return json.Unmarshal(body, &s) != nil || len(s.JobChain.Secrets) > 0
}

// Cleanup drops claims older than the claim timeout, so that what a dead manager
// claimed goes on, and ends as FAIL what has been suspended for longer than the
// TTL.
func (r *Resumer) Cleanup(ctx context.Context) error {
	dropped, err := r.m.store.DropOldClaims(ctx, r.m.cfg.ClaimTimeout)
	if err != nil {
		return err
	}
	if dropped > 0 {
		r.m.log.Warn("dropped claims of managers that did not go on with them", "claims", dropped, "age", r.m.cfg.ClaimTimeout)
	}
	expired, err := r.m.store.ExpireSJCs(ctx, r.m.cfg.ttl())
	for _, id := range expired {
		r.m.log.Warn("suspended for too long: the request failed", "request", id, "ttl", r.m.cfg.SuspendTTL)
		r.m.metrics.ended.WithLabelValues(proto.StateFail.String()).Inc()
		r.m.mayHaveEnded(id)
	}
	return err
}
