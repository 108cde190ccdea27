package engine

import (
	"context"
	"encoding/json"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// Instances returns instances: those that have not ended first, then newest first.
func (e *Engine) Instances(ctx context.Context, f proto.InstanceFilter) ([]proto.Instance, error) {
	list, err := e.store.Instances(ctx, store.InstanceFilter{
		App: f.App, Host: f.Host, States: f.States, Since: f.Since, Until: f.Until,
		Limit: uint(limited(int(min(f.Limit, maxList)), 100)), Offset: f.Offset,
	})
	return list, storeError(err, f.App)
}

// HostInstances returns what a host was given: what has not ended, and of the rest
// the last ones; at most 1,000.
func (e *Engine) HostInstances(ctx context.Context, host string) ([]proto.HostInstance, error) {
	list, err := e.store.Instances(ctx, store.InstanceFilter{Host: host, Limit: maxList})
	if err != nil {
		return nil, storeError(err, "")
	}
	out := make([]proto.HostInstance, len(list))
	for i, in := range list {
		out[i] = proto.HostInstance{Name: in.Name, App: in.App, State: hostState(in.State), Reason: in.Reason}
		if len(in.Conf) > 0 {
			if err := json.Unmarshal(in.Conf, &out[i].Conf); err != nil {
				return nil, &proto.Error{Code: proto.CodeInternal, Message: "internal error", Err: err}
			}
		}
	}
	return out, nil
}

func hostState(s proto.InstanceState) proto.HostState {
	switch s {
	case proto.InstanceQueued:
		return proto.HostPending
	case proto.InstanceRunning:
		return proto.HostRunning
	case proto.InstanceSucceeded:
		return proto.HostDone
	}
	return proto.HostFailed
}

// Events returns events of an app with an ID greater than since, at most limit
// (1,000 if 0).
func (e *Engine) Events(ctx context.Context, name string, since uint64, limit int) ([]proto.AppEvent, error) {
	list, err := e.store.Events(ctx, name, since, limited(limit, maxList))
	if err != nil {
		return nil, storeError(err, name)
	}
	return list, nil
}

// Members returns who runs the engine, or did until lately.
func (e *Engine) Members(ctx context.Context) ([]proto.Member, error) {
	nodes, err := e.store.Nodes(ctx)
	if err != nil {
		return nil, storeError(err, "")
	}
	now, err := e.store.Now(ctx)
	if err != nil {
		return nil, storeError(err, "")
	}
	isLive := func(n proto.Node) bool { return now.Sub(n.HeartbeatAt) <= e.cfg.StaleAfter }
	var live []string
	for _, n := range nodes {
		if isLive(n) {
			live = append(live, n.ID)
		}
	}
	shards := int(e.member.shards.Load())
	out := make([]proto.Member, len(nodes))
	for i, n := range nodes {
		out[i] = proto.Member{Node: n, Live: isLive(n)}
		if out[i].Live && shards > 0 {
			_, out[i].Shards = shardsOf(n.ID, live, shards)
		}
	}
	return out, nil
}

// SetShards changes into how many shards the apps are cut, from 1 to 1024. Members
// follow with their next heartbeat.
func (e *Engine) SetShards(ctx context.Context, n int) error {
	if n < 1 || n > store.Buckets {
		return proto.Errorf(proto.CodeInvalid, "shards: expected a number from 1 to %d", store.Buckets)
	}
	return storeError(e.store.SetShards(ctx, n), "")
}
