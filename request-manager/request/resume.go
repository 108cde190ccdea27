package request

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

const (
	// maxResumes is how many chains are resumed at a time.
	maxResumes = 16
	// maxResumeBatch is how many are read at a time.
	maxResumeBatch = 1000
)

// resumer claims, resumes and cleans up suspended job chains.
type resumer struct {
	store        *store.Store
	log          *slog.Logger
	fleet        *fleet
	sender       *sender
	changes      *changes
	metrics      *metrics
	managerID    string // in claims
	every        time.Duration
	ttl          time.Duration // of a suspended job chain
	claimTimeout time.Duration
	wake         chan struct{}
}

func (r *resumer) run(ctx context.Context) {
	every(ctx, r.every, r.wake, func(ctx context.Context) {
		if err := r.resumeAll(ctx); err != nil && ctx.Err() == nil {
			r.log.Warn("cannot resume suspended job chains", "error", err)
		}
	})
}

// cleanUp does not wait for runners, as run may.
func (r *resumer) cleanUp(ctx context.Context) {
	every(ctx, r.every, nil, func(ctx context.Context) {
		if err := r.dropStale(ctx); err != nil && ctx.Err() == nil {
			r.log.Warn("cannot clean up suspended job chains", "error", err)
		}
	})
}

// resumeAll resumes unclaimed chains in random order, several at a time, until
// none is left, no runner accepts any, or ctx ends.
func (r *resumer) resumeAll(ctx context.Context) error {
	if !r.fleet.any() {
		return nil
	}
	// What waits for a host without room is left out: it would hide the rest.
	found, err := r.store.UnclaimedSJCs(ctx, r.ttl, maxResumeBatch, r.fleet.hostsWithRoom()...)
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
		if ctx.Err() != nil || !r.fleet.any() {
			break
		}
		resumes.Go(func() {
			defer func() { <-slots }()
			done, err := r.resume(ctx, s.RequestID, s.Host)
			if err != nil && ctx.Err() == nil {
				r.log.Warn("cannot resume a suspended job chain", "request", s.RequestID, "error", err)
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

// resumeOne claims one suspended job chain and sends it to a runner. It is no error
// if somebody else has claimed it, or no runner accepts it now.
func (r *resumer) resumeOne(ctx context.Context, id string) error {
	q, err := r.store.Request(ctx, id)
	if err != nil {
		return err
	}
	_, err = r.resume(ctx, id, q.Host)
	return err
}

// resume reports whether the request is RUNNING again. In-flight work completes also
// if ctx ends.
func (r *resumer) resume(ctx context.Context, id, host string) (bool, error) {
	runner, ok := r.fleet.pick(host)
	if !ok {
		return false, nil
	}
	work := context.WithoutCancel(ctx)
	sjc, err := r.take(work, id, runner)
	if err != nil {
		r.fleet.sent(runner.ID, 1, false)
		if errors.Is(err, store.ErrNotUpdated) || errors.Is(err, store.ErrNotFound) {
			return false, nil // claimed by another manager, stopped or expired
		}
		return false, err
	}
	epoch := sjc.Epoch + 1
	r.changes.notify(id)
	log := r.log.With("request", id, "runner", runner.ID, "epoch", epoch)
	outcome, err := r.sender.resume(ctx, runner, id, epoch, sjc.Body)
	switch outcome {
	case delivered:
		log.Info("request resumed")
	case refused:
		log.Info("the job runner refused the suspended request", "error", err)
		if isUnfit(err) {
			r.sender.failUnfit(ctx, id, epoch, whyRefused(runner, err))
			return false, nil
		}
		err := r.store.Suspend(work, id, epoch, sjc.Since, sjc.Body, sealed(sjc.Body), whyRefused(runner, err))
		r.changes.mayHaveEnded(id) // if a stop was asked for
		return false, err
	case unknown:
		log.Warn(unknownDelivery, "error", err)
	}
	return true, nil
}

// take claims an SJC and hands its request to the runner, in the store.
func (r *resumer) take(ctx context.Context, id string, runner proto.Runner) (store.SJC, error) {
	sjc, err := r.store.ClaimSJC(ctx, id, r.managerID)
	if err != nil {
		return sjc, err
	}
	err = r.store.Resume(ctx, id, sjc.Epoch, r.managerID, runner.ID, runner.URL)
	if err != nil && !errors.Is(err, store.ErrNotUpdated) {
		if e := r.store.UnclaimSJC(ctx, id, r.managerID); e != nil && !errors.Is(e, store.ErrNotUpdated) {
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

// dropStale drops claims older than the claim timeout, so that what a dead manager
// claimed goes on, and ends as FAIL what has been suspended for longer than the
// TTL.
func (r *resumer) dropStale(ctx context.Context) error {
	dropped, err := r.store.DropOldClaims(ctx, r.claimTimeout)
	if err != nil {
		return err
	}
	if dropped > 0 {
		r.log.Warn("dropped claims of managers that did not complete them", "claims", dropped, "age", r.claimTimeout)
	}
	expired, err := r.store.ExpireSJCs(ctx, r.ttl)
	for _, id := range expired {
		r.log.Warn("suspended for too long: the request failed", "request", id, "ttl", r.ttl)
		r.metrics.ended.WithLabelValues(proto.StateFail.String()).Inc()
		r.changes.mayHaveEnded(id)
	}
	return err
}
