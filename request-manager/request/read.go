package request

import (
	"context"
	"encoding/json"
	"errors"
	"time"

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
	r.Reason = m.explainState(&r)
	return r, nil
}

// explainState returns the reason of a request, and for one that waits although no
// runner can accept it, what it waits for.
func (m *Manager) explainState(r *proto.Request) string {
	switch {
	case r.State != proto.StatePending && r.State != proto.StateSuspended:
	case r.Host != "" && !m.fleet.hasRunner(r.Host):
		waits := "waits for a job runner on host " + r.Host + ": none there is accepting job chains"
		if r.Reason != "" {
			waits += " (" + r.Reason + ")"
		}
		return waits
	case r.State == proto.StatePending && !m.fleet.any():
		return "waits for a job runner: none is accepting job chains"
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
	c, secrets, err := replay(ctx, m.store, r.ID)
	if isBroken(err) {
		m.log.Error("the stored job chain or job log of a request cannot be read", "request", r.ID, "error", err)
		return m.unreadableChain(ctx, r), nil
	}
	if err != nil {
		return nil, err
	}
	if r.State == proto.StateRunning && !r.StopRequested {
		c.Next(time.Now()) // jobs that may run are running: the runner follows the same rules
	}
	jc := c.JobChain()
	jc.State = r.State
	return publicChain(jc, secrets), nil
}

// unreadableChain is what is shown of a request whose chain cannot be computed: its
// jobs as they were created, if that can be read, and none else.
func (m *Manager) unreadableChain(ctx context.Context, r *proto.Request) *proto.JobChain {
	jc := &proto.JobChain{RequestID: r.ID, Jobs: map[string]*proto.Job{}, AdjacencyList: map[string][]string{}}
	var stored proto.JobChain
	if body, err := m.store.Chain(ctx, r.ID); err == nil && json.Unmarshal(body, &stored) == nil {
		jc = publicChain(&stored, stored.Secrets)
	}
	jc.State, jc.FinishedJobs = r.State, r.FinishedJobs
	return jc
}

// publicChain returns a chain without secrets, and without what means nothing to users.
func publicChain(jc *proto.JobChain, secrets []string) *proto.JobChain {
	hide := mask.New(secrets)
	public := *jc
	public.Secrets = nil
	public.Jobs = make(map[string]*proto.Job, len(jc.Jobs))
	for id, j := range jc.Jobs {
		p := *j
		p.Bytes = nil // means nothing to anyone but the job type
		p.Args, p.Sets, p.Data = hide.Values(j.Args), hide.Values(j.Sets), hide.Values(j.Data)
		public.Jobs[id] = &p
	}
	return &public
}

// Find returns the requests that the filter matches, newest first, without args
// and job chains.
func (m *Manager) Find(ctx context.Context, f proto.RequestFilter) ([]proto.Request, error) {
	rs, err := m.store.FindRequests(ctx, f)
	for i := range rs {
		if rs[i].Host != "" {
			rs[i].Reason = m.explainState(&rs[i])
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
