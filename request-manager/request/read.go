package request

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"time"

	"github.com/treadle-run/treadle/chain"
	"github.com/treadle-run/treadle/internal/mask"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// Get returns a request with its args, without its job chain.
func (m *Manager) Get(ctx context.Context, id string) (proto.Request, error) {
	r, err := m.store.Request(ctx, id)
	if err != nil {
		return r, storeError(err, id)
	}
	r.Reason = m.whyWaits(&r)
	return r, nil
}

// whyWaits returns the reason of a request, and for one that waits for a runner
// that is not there, that it does.
func (m *Manager) whyWaits(r *proto.Request) string {
	switch {
	case r.State != proto.StatePending && r.State != proto.StateSuspended:
	case r.Host != "" && !m.fleet.isThere(r.Host):
		waits := "waits for a job runner on host " + r.Host + ": none is there that takes job chains"
		if r.Reason != "" {
			waits += " (" + r.Reason + ")"
		}
		return waits
	case r.State == proto.StatePending && !m.fleet.any():
		return "waits for a job runner: none is there that takes job chains"
	}
	return r.Reason
}

// GetWithJC returns a request with its args and its job chain as it is now.
func (m *Manager) GetWithJC(ctx context.Context, id string) (proto.Request, error) {
	r, err := m.Get(ctx, id)
	if err != nil {
		return r, err
	}
	r.JobChain, err = m.jobChain(ctx, &r)
	return r, err
}

// JobChain returns the job chain of a request as it is now: its states are those
// that the job log gives.
func (m *Manager) JobChain(ctx context.Context, id string) (*proto.JobChain, error) {
	r, err := m.store.Request(ctx, id)
	if err != nil {
		return nil, storeError(err, id)
	}
	return m.jobChain(ctx, &r)
}

func (m *Manager) jobChain(ctx context.Context, r *proto.Request) (*proto.JobChain, error) {
	c, secrets, err := m.replay(ctx, r.ID)
	if err != nil {
		return nil, err
	}
	if r.State == proto.StateRunning && !r.StopRequested {
		c.Next(time.Now()) // what may run runs: the runner follows the same rules
	}
	jc := c.JobChain()
	jc.State = r.State
	hide := mask.New(secrets)
	public := *jc
	public.Secrets = nil
	public.Jobs = make(map[string]*proto.Job, len(jc.Jobs))
	for id, j := range jc.Jobs {
		p := *j
		p.Bytes = nil // means nothing to anyone but the job type
		p.Args, p.Data = hide.Values(j.Args), hide.Values(j.Data)
		public.Jobs[id] = &p
	}
	return &public, nil
}

// replay computes a chain from its archive and its job log.
func (m *Manager) replay(ctx context.Context, id string) (*chain.Chain, []string, error) {
	return replayTo(ctx, m.store, id, math.MaxUint64)
}

// errEnough ends a replay before the end of the log.
var errEnough = errors.New("enough")

// replayTo computes a chain as it was when its log had that many entries, and
// returns its secrets, too.
func replayTo(ctx context.Context, s *store.Store, id string, entries uint64) (*chain.Chain, []string, error) {
	body, err := s.Chain(ctx, id)
	if err != nil {
		return nil, nil, storeError(err, id)
	}
	var jc proto.JobChain
	if err := json.Unmarshal(body, &jc); err != nil {
		return nil, nil, brokenChain(id, err)
	}
	c, err := chain.New(&jc)
	if err != nil {
		return nil, nil, brokenChain(id, err)
	}
	var unfit error
	err = s.EachJobLog(ctx, id, func(e *proto.JobLog) error {
		if e.Seq >= entries {
			return errEnough
		}
		unfit = c.Apply(e)
		return unfit
	})
	if unfit != nil {
		return nil, nil, brokenChain(id, unfit)
	}
	if err != nil && !errors.Is(err, errEnough) {
		return nil, nil, storeError(err, id)
	}
	return c, jc.Secrets, nil
}

func brokenChain(id string, err error) error {
	return &proto.Error{Code: proto.CodeInternal, Message: "the stored job chain or job log cannot be read", RequestID: id, Err: err}
}

// Find returns the requests that the filter matches, newest first, without args
// and job chains.
func (m *Manager) Find(ctx context.Context, f proto.RequestFilter) ([]proto.Request, error) {
	rs, err := m.store.FindRequests(ctx, f)
	for i := range rs {
		if rs[i].Host != "" {
			rs[i].Reason = m.whyWaits(&rs[i])
		}
	}
	return rs, storeError(err, "")
}

// Specs returns the requests that users can ask for.
func (m *Manager) Specs() []proto.RequestSpec { return m.cfg.Specs.Requests() }

// Log returns the job log of a request, oldest entry first.
func (m *Manager) Log(ctx context.Context, id string) ([]proto.JobLog, error) {
	entries, err := m.store.JobLog(ctx, id)
	if err == nil && len(entries) == 0 {
		_, err = m.store.Request(ctx, id) // no entry, or no request?
	}
	return entries, storeError(err, id)
}

// LastLog returns the entry of the last try of a job.
func (m *Manager) LastLog(ctx context.Context, id, jobID string) (proto.JobLog, error) {
	e, err := m.store.LastJobLog(ctx, id, jobID)
	if errors.Is(err, store.ErrNotFound) {
		if _, err := m.store.Request(ctx, id); err != nil {
			return e, storeError(err, id)
		}
		return e, proto.Errorf(proto.CodeNotFound, "no try of job %q has ended, or the request has no such job", jobID).ForRequest(id)
	}
	return e, storeError(err, id)
}
