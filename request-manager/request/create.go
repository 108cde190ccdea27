package request

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/rs/xid"

	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// Create checks the args, builds the job chain, stores the request as PENDING
// and has it sent. With an idempotency key that the user has used before, it
// returns that request if the body is the same, and CodeConflict if not.
func (m *Manager) Create(ctx context.Context, c proto.CreateRequest, user, key string) (proto.Request, error) {
	n, jc, err := m.build(ctx, c)
	if err != nil {
		if key != "" {
			// The specs may have changed since the first time.
			if r, found, keyErr := m.byKey(ctx, c, user, key); found || keyErr != nil {
				return r, keyErr
			}
		}
		return proto.Request{}, err
	}
	n.Request.User = user
	n.IdempotencyKey, n.BodyHash = key, m.bodyHash(c)
	err = m.creator.create(ctx, n)
	if _, ok := errors.AsType[*store.KeyTakenError](err); ok {
		r, found, keyErr := m.byKey(ctx, c, user, key)
		if found || keyErr != nil {
			return r, keyErr
		}
		return r, proto.Errorf(proto.CodeUnavailable, "the idempotency key was in use; try again")
	}
	if err != nil {
		return proto.Request{}, createError(err)
	}
	m.metrics.created.Inc()
	m.folds.seed(n.Request.ID, jc)
	m.dispatcher.enqueue(pendingRequest{id: n.Request.ID, body: n.Chain, host: c.Host})
	m.changes.notify(n.Request.ID)
	return n.Request, nil
}

// build makes the request and its job chain, and stores nothing.
func (m *Manager) build(ctx context.Context, c proto.CreateRequest) (*store.NewRequest, *proto.JobChain, error) {
	if err := CheckArgsSize(c.Args, m.cfg.MaxArgsSize); err != nil {
		return nil, nil, err
	}
	if err := checkHost(c.Host); err != nil {
		return nil, nil, err
	}
	values, list, secrets, err := m.cfg.Specs.RequestArgs(c.Type, c.Args)
	if err != nil {
		return nil, nil, err
	}
	id := xid.New().String()
	jc, err := m.cfg.Specs.Build(ctx, id, c.Type, values, secrets)
	if err != nil {
		m.logPanic(err, c.Type)
		return nil, nil, err
	}
	body, err := json.Marshal(jc)
	if err != nil {
		return nil, nil, &proto.Error{Code: proto.CodeUnprocessable, Message: "the job chain has no JSON form", Err: err}
	}
	public := make(proto.Values, len(list))
	for _, a := range list {
		if !a.Secret {
			public[a.Name] = a.Value
		}
	}
	return &store.NewRequest{
		Request: proto.Request{
			ID: id, Type: c.Type, State: proto.StatePending, Host: c.Host, Args: list, TotalJobs: jc.TotalJobs(),
		},
		ArgValues: public,
		Chain:     body,
		Seal:      len(jc.Secrets) > 0,
	}, jc, nil
}

// CheckArgsSize refuses args with more bytes of JSON than the limit.
func CheckArgsSize(args proto.Values, limit int) error {
	b, err := args.MarshalJSON()
	if err != nil {
		return proto.Errorf(proto.CodeInvalid, "args: %v", err)
	}
	if len(b) > limit {
		return proto.Errorf(proto.CodeTooLarge, "args have %d bytes of JSON; at most %d are allowed (limits.args)", len(b), limit)
	}
	return nil
}

func checkHost(host string) error {
	if err := proto.CheckHost(host); err != nil {
		return proto.Errorf(proto.CodeInvalid, "host: the name of the host %v", err)
	}
	return nil
}

func (m *Manager) logPanic(err error, requestType string) {
	if p, ok := errors.AsType[*job.PanicError](err); ok {
		m.log.Error("a job type panicked", "type", requestType, "call", p.Call, "stack", string(p.Stack))
	}
}

// byKey returns the request that was created with the key before.
func (m *Manager) byKey(ctx context.Context, c proto.CreateRequest, user, key string) (r proto.Request, found bool, err error) {
	id, hash, err := m.store.RequestByKey(ctx, user, key)
	if errors.Is(err, store.ErrNotFound) {
		return r, false, nil
	}
	if err != nil {
		return r, false, storeError(err, "")
	}
	if string(hash) != string(m.bodyHash(c)) {
		return r, false, proto.Errorf(proto.CodeConflict,
			"the Idempotency-Key was used for another request (%s) with another type, host or other args", id).ForRequest(id)
	}
	r, err = m.Get(ctx, id)
	return r, err == nil, err
}

// bodyHash identifies what was asked for. Values write themselves with their
// keys in order, so that equal args have equal hashes.
func (m *Manager) bodyHash(c proto.CreateRequest) []byte {
	args, err := c.Args.MarshalJSON()
	if err != nil {
		return nil // cannot be: the args were measured before
	}
	of := c.Type + "\x00"
	if c.Host != "" {
		of += "host " + c.Host + "\x00"
	}
	return m.store.Fingerprint(append([]byte(of), args...))
}
