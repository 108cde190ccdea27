package engine

import (
	"context"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/ledger"
	"github.com/treadle-run/treadle/schedule/store"
)

// MemberList says who runs the engine, and sets how the apps are shared out.
type MemberList struct {
	store      *store.Store
	staleAfter time.Duration
	shards     func() int // of all members, as the database said last
}

// Members returns who runs the engine, or did until lately.
func (m *MemberList) Members(ctx context.Context) ([]proto.MemberStatus, error) {
	members, err := m.store.Members(ctx)
	if err != nil {
		return nil, ledger.ForUser(err, "")
	}
	now, err := m.store.Now(ctx)
	if err != nil {
		return nil, ledger.ForUser(err, "")
	}
	isLive := func(n proto.Member) bool { return now.Sub(n.HeartbeatAt) <= m.staleAfter }
	var live []string
	for _, n := range members {
		if isLive(n) {
			live = append(live, n.ID)
		}
	}
	shards := m.shards()
	out := make([]proto.MemberStatus, len(members))
	for i, n := range members {
		out[i] = proto.MemberStatus{Member: n, Live: isLive(n)}
		if out[i].Live && shards > 0 {
			_, out[i].Shards = shardsOf(n.ID, live, shards)
		}
	}
	return out, nil
}

// SetShards changes into how many shards the apps are cut, from 1 to 1024. Members
// follow with their next heartbeat.
func (m *MemberList) SetShards(ctx context.Context, n int) error {
	if n < 1 || n > store.Buckets {
		return proto.Errorf(proto.CodeInvalid, "shards: expected a number from 1 to %d", store.Buckets)
	}
	return ledger.ForUser(m.store.SetShards(ctx, n), "")
}
