package store

import (
	"context"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// DueInstances returns the instances of those buckets that nobody works on and that
// are to be looked at now or within ahead, the most urgent first, and the time.
func (s *Store) DueInstances(ctx context.Context, buckets []BucketRange, ahead time.Duration, limit int) (list []DueInstance, now time.Time, err error) {
	err = s.db.Do(ctx, "due instances", func(ctx context.Context) error {
		us, err := s.db.ReadNow(ctx, s.db.Reader)
		if err != nil {
			return err
		}
		now = database.FromMicros(us)
		list = nil
		if len(buckets) == 0 {
			return nil
		}
		list, err = dueOf(ctx, s.dueQuery(us+ahead.Microseconds(), buckets, limit), s.db.Reader)
		return err
	})
	return list, now, err
}

// OverdueInstances returns instances of all buckets that should have been looked at
// so long ago, the most urgent first.
func (s *Store) OverdueInstances(ctx context.Context, by time.Duration, limit int) ([]DueInstance, error) {
	var list []DueInstance
	err := s.db.Do(ctx, "overdue instances", func(ctx context.Context) error {
		us, err := s.db.ReadNow(ctx, s.db.Reader)
		if err != nil {
			return err
		}
		list, err = dueOf(ctx, s.dueQuery(us-by.Microseconds(), nil, limit), s.db.Reader)
		return err
	})
	return list, err
}

// dueQuery reads the index by time; the buckets are in it.
func (s *Store) dueQuery(until int64, buckets []BucketRange, limit int) *database.Query {
	q := s.db.Query("SELECT "+liveLight+", fetch_at FROM schedule_instances{index schedule_instances_fetch} WHERE fetch_at <= ?", until)
	all := len(buckets) == 0 || buckets[0].From == 0 && buckets[0].To >= Buckets
	if !all {
		sep := " AND ("
		for _, b := range buckets {
			q.Add(sep+"bucket >= ? AND bucket < ?", b.From, b.To)
			sep = " OR "
		}
		q.Add(")")
	}
	return q.Add(" ORDER BY fetch_at LIMIT ?", limit)
}

func dueOf(ctx context.Context, q *database.Query, db database.Querier) ([]DueInstance, error) {
	var out []DueInstance
	err := q.Rows(ctx, db, func(scan func(...any) error) error {
		var at int64
		in, err := scanInstance(scan, &at)
		out = append(out, DueInstance{Instance: in, FetchAt: database.FromMicros(at)})
		return err
	})
	return out, err
}

// StaleInstances returns instances that are claimed by members that were not heard
// of for longer than staleAfter, or are gone. They have no Conf.
func (s *Store) StaleInstances(ctx context.Context, staleAfter time.Duration, limit int) ([]proto.Instance, error) {
	var out []proto.Instance
	err := s.db.Do(ctx, "instances of members that are gone", func(ctx context.Context) error {
		live, err := s.db.Query(`SELECT member_id FROM schedule_members WHERE gone_at IS NULL AND heartbeat_at >= {now} - ?
			ORDER BY member_id`,
			staleAfter.Microseconds()).Strings(ctx, s.db.Reader)
		if err != nil {
			return err
		}
		out, err = instancesOf(ctx, s.claimedByOthers(live, limit), s.db.Reader)
		return err
	})
	return out, err
}

// claimedByOthers reads what lies between the ids, which are in order, in the index
// on members: most instances that are claimed lie at them.
func (s *Store) claimedByOthers(members []string, limit int) *database.Query {
	q := s.db.Query("SELECT " + liveLight + " FROM (")
	after := ""
	for i := range len(members) + 1 {
		if i > 0 {
			q.Add(" UNION ALL ")
		}
		q.Add("SELECT * FROM (SELECT "+firstColumns+`, waits_for FROM schedule_instances{index schedule_instances_member}
			WHERE member > ?`,
			after)
		if i < len(members) {
			q.Add(" AND member < ?", members[i])
			after = members[i]
		}
		q.Add(" LIMIT ?) part", limit)
	}
	return q.Add(") x LIMIT ?", limit)
}

// SettledInstances returns instances that nobody works on and that wait for a request
// that has ended, if it was not seen to wake them.
func (s *Store) SettledInstances(ctx context.Context, limit int) ([]proto.Instance, error) {
	var out []proto.Instance
	err := s.db.Do(ctx, "instances whose request has ended", func(ctx context.Context) error {
		var err error
		out, err = instancesOf(ctx, s.settledQuery(limit), s.db.Reader)
		return err
	})
	return out, err
}

func (s *Store) settledQuery(limit int) *database.Query {
	return s.db.Query("SELECT "+liveLight+` FROM schedule_instances{index schedule_instances_waits}
		WHERE waits_for > '' AND fetch_at > {now} AND EXISTS (SELECT 1 FROM requests r
		WHERE r.request_id = waits_for AND r.finished_at IS NOT NULL) LIMIT ?`,
		limit)
}
