package request

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

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
		if err := r.Cleanup(ctx); err != nil && ctx.Err() == nil {
			r.m.log.Warn("cannot clean up suspended job chains", "error", err)
		}
		if err := r.ResumeAll(ctx); err != nil && ctx.Err() == nil {
			r.m.log.Warn("cannot resume suspended job chains", "error", err)
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
	ids, err := r.m.store.UnclaimedSJCs(ctx, maxResumeBatch)
	if err != nil {
		return err
	}
	var (
		resumes sync.WaitGroup
		slots   = make(chan struct{}, maxResumes)
	)
	for _, id := range ids {
		slots <- struct{}{}
		if ctx.Err() != nil || !r.m.fleet.any() {
			break
		}
		resumes.Go(func() {
			defer func() { <-slots }()
			if err := r.Resume(ctx, id); err != nil && ctx.Err() == nil {
				r.m.log.Warn("cannot resume a suspended job chain", "request", id, "error", err)
			}
		})
	}
	resumes.Wait()
	return nil
}

// Resume claims one suspended job chain and sends it to a runner. It is no error
// if somebody else has claimed it, or no runner takes it now.
func (r *Resumer) Resume(ctx context.Context, id string) error {
	runner, ok := r.m.fleet.pick()
	if !ok {
		return nil
	}
	sjc, err := r.m.store.ClaimSJC(ctx, id, r.m.cfg.Host)
	if errors.Is(err, store.ErrNotUpdated) || errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	epoch := sjc.Epoch + 1
	err = r.m.store.Resume(ctx, id, sjc.Epoch, r.m.cfg.Host, runner.ID, runner.URL)
	if errors.Is(err, store.ErrNotUpdated) {
		return nil // stopped or expired meanwhile: there is nothing left to claim
	}
	if err != nil {
		return errors.Join(err, r.m.store.UnclaimSJC(ctx, id, r.m.cfg.Host))
	}
	r.m.changes.notify(id)
	log := r.m.log.With("request", id, "runner", runner.ID, "epoch", epoch)
	outcome, err := r.m.deliver(ctx, runner, func(ctx context.Context) error {
		return r.m.cfg.Runners.ResumeChain(ctx, runner.URL, id, epoch, sjc.Body)
	})
	switch outcome {
	case delivered:
		log.Info("request resumed")
	case refused:
		log.Info("the job runner did not take the suspended request", "error", err)
		err := r.m.store.Suspend(ctx, id, epoch, sjc.Body, sealed(sjc.Body), "job runner "+runner.URL+": "+proto.Body(err).Message)
		r.m.changes.notify(id)
		return err
	case unknown:
		log.Warn("the job runner did not answer; whether it has the request shows with its next heartbeat, or its lease", "error", err)
	}
	return nil
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
	expired, err := r.m.store.ExpireSJCs(ctx, r.m.cfg.SuspendTTL.Round(time.Second))
	for _, id := range expired {
		r.m.log.Warn("suspended for too long: the request failed", "request", id, "ttl", r.m.cfg.SuspendTTL)
		r.m.changes.notify(id)
	}
	return err
}
