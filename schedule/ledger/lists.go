package ledger

import (
	"context"
	"encoding/json"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/store"
)

// Instances returns instances: those that have not ended first, then newest first.
func (l *Ledger) Instances(ctx context.Context, f proto.InstanceFilter) ([]proto.Instance, error) {
	list, err := l.store.Instances(ctx, store.InstanceFilter{
		App: f.App, Host: f.Host, States: f.States, Since: f.Since, Until: f.Until,
		Limit: uint(limited(int(min(f.Limit, maxList)), 100)), Offset: f.Offset,
	})
	return list, ForUser(err, f.App)
}

// HostInstances returns what a host was given: what has not ended, and of the rest
// the last ones; at most 1,000.
func (l *Ledger) HostInstances(ctx context.Context, host string) ([]proto.HostInstance, error) {
	list, err := l.store.Instances(ctx, store.InstanceFilter{Host: host, Limit: maxList})
	if err != nil {
		return nil, ForUser(err, "")
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
func (l *Ledger) Events(ctx context.Context, name string, since uint64, limit int) ([]proto.AppEvent, error) {
	list, err := l.store.Events(ctx, name, since, limited(limit, maxList))
	if err != nil {
		return nil, ForUser(err, name)
	}
	return list, nil
}
