package store

import (
	"context"
	"time"
)

// PurgeArchive forgets instances that ended longer ago than that, and returns how
// many.
func (s *Store) PurgeArchive(ctx context.Context, olderThan time.Duration) (int, error) {
	purged := 0
	for {
		var n int64
		err := s.inTx(ctx, "purge instances", func(ctx context.Context, t *tx) error {
			n = 0
			now, err := s.readNow(ctx, t)
			if err != nil {
				return err
			}
			before := now - olderThan.Microseconds()
			keys, err := s.q(`SELECT app, number FROM schedule_archive{index schedule_archive_finished}
				WHERE finished_at < ? ORDER BY finished_at LIMIT ?`,
				before, wakeChunk).keys(ctx, t)
			if err != nil || len(keys) == 0 {
				return err
			}
			if err := t.setPurged(ctx, before); err != nil {
				return err
			}
			n, err = s.q("DELETE FROM schedule_archive WHERE ").among(keys).exec(ctx, t)
			return err
		})
		purged += int(n)
		if err != nil || n == 0 {
			return purged, err
		}
	}
}

// setPurged says that there may be holes in the numbers of what ended before then.
func (t *tx) setPurged(ctx context.Context, before int64) error {
	_, err := t.s.q(`INSERT INTO schedule_settings (id, shards, purged_to) VALUES (1, ?, ?){upsert}purged_to = ?`,
		0, before, before).exec(ctx, t)
	return err
}

// PurgeEvents forgets events of apps that are older than that, and returns how many.
func (s *Store) PurgeEvents(ctx context.Context, olderThan time.Duration) (int, error) {
	purged := 0
	for {
		var n int64
		err := s.do(ctx, "purge events of apps", func(ctx context.Context, _ int) error {
			ids, err := s.q(`SELECT id FROM schedule_events{index schedule_events_at} WHERE at < {now} - ? ORDER BY at
				LIMIT ?`,
				olderThan.Microseconds(), chunkRows).numbers(ctx, s.read)
			if err != nil || len(ids) == 0 {
				n = 0
				return err
			}
			q := s.q("DELETE FROM schedule_events WHERE id IN (?", ids[0])
			for _, id := range ids[1:] {
				q.add(",?", id)
			}
			n, err = q.add(")").exec(ctx, s.write)
			return err
		})
		purged += int(n)
		if err != nil || n == 0 {
			return purged, err
		}
	}
}

// numbers returns the answer's only column.
func (q *query) numbers(ctx context.Context, db querier) ([]uint64, error) {
	var out []uint64
	err := q.rows(ctx, db, func(scan func(...any) error) error {
		var n uint64
		err := scan(&n)
		out = append(out, n)
		return err
	})
	return out, err
}
