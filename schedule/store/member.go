package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// MemberHeartbeat says that a member lives, and registers it the first time. It returns
// the members that were seen within staleAfter, itself among them, by id, the
// number of shards, and the time. The error is ErrMemberGone if the member was not
// among them any more: others may have taken over what it worked on, and it must come
// back under another id.
func (s *Store) MemberHeartbeat(ctx context.Context, n proto.Member, staleAfter time.Duration) (live []proto.Member, shards int, now time.Time, err error) {
	err = s.db.Do(ctx, "heartbeat of member "+n.ID, func(ctx context.Context) error {
		if err := s.beat(ctx, n, staleAfter); err != nil {
			return err
		}
		us, err := s.db.ReadNow(ctx, s.db.Writer)
		if err != nil {
			return err
		}
		now = database.FromMicros(us)
		all, err := s.members(ctx)
		if err != nil {
			return err
		}
		live = nil
		future := false
		for _, x := range all {
			future = future || x.HeartbeatAt.After(now.Add(staleAfter))
			if !x.HeartbeatAt.Before(now.Add(-staleAfter)) {
				live = append(live, x)
			}
		}
		if future {
			// The clock went back. Who lives has that long to say so.
			_, err = s.db.Query("UPDATE schedule_members SET heartbeat_at = ? WHERE heartbeat_at > ?", us, us).Exec(ctx, s.db.Writer)
			if err != nil {
				return err
			}
		}
		shards, err = s.shards(ctx)
		return err
	})
	return live, shards, now, err
}

func (s *Store) beat(ctx context.Context, n proto.Member, staleAfter time.Duration) error {
	met, err := s.db.Query(`UPDATE schedule_members SET stale_after = ?, heartbeat_at = {now}
		WHERE member_id = ? AND gone_at IS NULL AND heartbeat_at >= {now} - ?`,
		staleAfter.Microseconds(), n.ID, staleAfter.Microseconds()).Exec(ctx, s.db.Writer)
	if err != nil || met > 0 {
		return err
	}
	_, err = s.db.Query(`INSERT INTO schedule_members (member_id, host, pid, version, stale_after, started_at, heartbeat_at)
		VALUES (?, ?, ?, ?, ?, {now}, {now})`,
		n.ID, n.Host, n.PID, n.Version, staleAfter.Microseconds()).Exec(ctx, s.db.Writer)
	if err != nil && s.db.Dialect.Classify(err) == database.ClassDuplicate {
		return fmt.Errorf("member %s: %w", n.ID, ErrMemberGone)
	}
	return err
}

// MemberGone says that a member has ended, or counts as gone, for good: what it had
// claimed may be taken over at once.
func (s *Store) MemberGone(ctx context.Context, id string) error {
	return s.db.Do(ctx, "end of member "+id, func(ctx context.Context) error {
		_, err := s.db.Query(`UPDATE schedule_members SET gone_at = {now} WHERE member_id = ? AND gone_at IS NULL`, id).Exec(ctx, s.db.Writer)
		return err
	})
}

// Members returns the members that are not gone, by id.
func (s *Store) Members(ctx context.Context) ([]proto.Member, error) {
	var out []proto.Member
	err := s.db.Do(ctx, "members", func(ctx context.Context) error {
		var err error
		out, err = s.members(ctx)
		return err
	})
	return out, err
}

func (s *Store) members(ctx context.Context) ([]proto.Member, error) {
	var out []proto.Member
	q := s.db.Query(`SELECT member_id, host, pid, version, started_at, heartbeat_at FROM schedule_members
		WHERE gone_at IS NULL ORDER BY member_id`)
	err := q.Rows(ctx, s.db.Writer, func(scan func(...any) error) error {
		var n proto.Member
		var started, heartbeat int64
		err := scan(&n.ID, &n.Host, &n.PID, &n.Version, &started, &heartbeat)
		n.StartedAt, n.HeartbeatAt = database.FromMicros(started), database.FromMicros(heartbeat)
		out = append(out, n)
		return err
	})
	return out, err
}

// PurgeMembers forgets members that have been gone, or not seen, for longer than
// that, and returns how many.
func (s *Store) PurgeMembers(ctx context.Context, olderThan time.Duration) (int, error) {
	var n int64
	err := s.db.Do(ctx, "purge members", func(ctx context.Context) error {
		var err error
		n, err = s.db.Query(`DELETE FROM schedule_members
			WHERE heartbeat_at < {now} - ? AND (gone_at IS NULL OR gone_at < {now} - ?)`,
			olderThan.Microseconds(), olderThan.Microseconds()).Exec(ctx, s.db.Writer)
		return err
	})
	return int(n), err
}

func (s *Store) shards(ctx context.Context) (int, error) {
	var n sql.Null[int]
	err := s.db.Query("SELECT shards FROM schedule_settings WHERE id = 1").Row(ctx, s.db.Reader, &n)
	if errors.Is(err, ErrNotFound) || err == nil && n.V == 0 {
		return DefaultShards, nil
	}
	return n.V, err
}

// SetShards says how many shards there are, from 1 to Buckets.
func (s *Store) SetShards(ctx context.Context, n int) error {
	if n < 1 || n > Buckets {
		return proto.Errorf(proto.CodeInvalid, "shards: %d is not from 1 to %d", n, Buckets)
	}
	return s.db.Do(ctx, "set shards", func(ctx context.Context) error {
		_, err := s.db.Query("INSERT INTO schedule_settings (id, shards) VALUES (1, ?){upsert}shards = ?", n, n).Exec(ctx, s.db.Writer)
		return err
	})
}
