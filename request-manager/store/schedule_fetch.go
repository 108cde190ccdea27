package store

import (
	"context"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// DueInstances returns the instances of those buckets that nobody works on and that
// are to be looked at now or within ahead, the most urgent first, and the time.
func (s *Store) DueInstances(ctx context.Context, buckets []BucketRange, ahead time.Duration, limit int) (list []DueInstance, now time.Time, err error) {
	err = s.do(ctx, "due instances", func(ctx context.Context, _ int) error {
		us, err := s.readNow(ctx, s.read)
		if err != nil {
			return err
		}
		now = fromMicros(us)
		list = nil
		if len(buckets) == 0 {
			return nil
		}
		list, err = s.dueQuery(us+ahead.Microseconds(), buckets, limit).due(ctx, s.read)
		return err
	})
	return list, now, err
}

// OverdueInstances returns instances of all buckets that should have been looked at
// so long ago, the most urgent first.
func (s *Store) OverdueInstances(ctx context.Context, by time.Duration, limit int) ([]DueInstance, error) {
	var list []DueInstance
	err := s.do(ctx, "overdue instances", func(ctx context.Context, _ int) error {
		us, err := s.readNow(ctx, s.read)
		if err != nil {
			return err
		}
		list, err = s.dueQuery(us-by.Microseconds(), nil, limit).due(ctx, s.read)
		return err
	})
	return list, err
}

// dueQuery reads the index by time; the buckets are in it.
func (s *Store) dueQuery(until int64, buckets []BucketRange, limit int) *query {
	q := s.q("SELECT "+liveLight+", fetch_at FROM schedule_instances{index schedule_instances_fetch} WHERE fetch_at <= ?", until)
	all := len(buckets) == 0 || buckets[0].From == 0 && buckets[0].To >= Buckets
	if !all {
		sep := " AND ("
		for _, b := range buckets {
			q.add(sep+"bucket >= ? AND bucket < ?", b.From, b.To)
			sep = " OR "
		}
		q.add(")")
	}
	return q.add(" ORDER BY fetch_at LIMIT ?", limit)
}

func (q *query) due(ctx context.Context, db querier) ([]DueInstance, error) {
	var out []DueInstance
	err := q.rows(ctx, db, func(scan func(...any) error) error {
		var at int64
		in, err := scanInstance(scan, &at)
		out = append(out, DueInstance{Instance: in, FetchAt: fromMicros(at)})
		return err
	})
	return out, err
}

// StaleInstances returns instances that are claimed by members that were not heard
// of for longer than staleAfter, or are gone. They have no Conf.
func (s *Store) StaleInstances(ctx context.Context, staleAfter time.Duration, limit int) ([]proto.Instance, error) {
	var out []proto.Instance
	err := s.do(ctx, "instances of members that are gone", func(ctx context.Context, _ int) error {
		live, err := s.q(`SELECT node_id FROM schedule_nodes WHERE gone_at IS NULL AND heartbeat_at >= {now} - ?
			ORDER BY node_id`,
			staleAfter.Microseconds()).strings(ctx, s.read)
		if err != nil {
			return err
		}
		out, err = s.claimedByOthers(live, limit).instances(ctx, s.read)
		return err
	})
	return out, err
}

// claimedByOthers reads what lies between the ids, which are in order, in the index
// on members: most instances that are claimed lie at them.
func (s *Store) claimedByOthers(members []string, limit int) *query {
	q := s.q("SELECT " + liveLight + " FROM (")
	after := ""
	for i := range len(members) + 1 {
		if i > 0 {
			q.add(" UNION ALL ")
		}
		q.add("SELECT * FROM (SELECT "+firstColumns+`, waits_for FROM schedule_instances{index schedule_instances_member}
			WHERE member > ?`,
			after)
		if i < len(members) {
			q.add(" AND member < ?", members[i])
			after = members[i]
		}
		q.add(" LIMIT ?) part", limit)
	}
	return q.add(") x LIMIT ?", limit)
}

// SettledInstances returns instances that nobody works on and that wait for a request
// that has ended, if it was not seen to wake them.
func (s *Store) SettledInstances(ctx context.Context, limit int) ([]proto.Instance, error) {
	var out []proto.Instance
	err := s.do(ctx, "instances whose request has ended", func(ctx context.Context, _ int) error {
		var err error
		out, err = s.settledQuery(limit).instances(ctx, s.read)
		return err
	})
	return out, err
}

func (s *Store) settledQuery(limit int) *query {
	return s.q("SELECT "+liveLight+` FROM schedule_instances{index schedule_instances_waits}
		WHERE waits_for > '' AND fetch_at > {now} AND EXISTS (SELECT 1 FROM requests r
		WHERE r.request_id = waits_for AND r.finished_at IS NOT NULL) LIMIT ?`,
		limit)
}
