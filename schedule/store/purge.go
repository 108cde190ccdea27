package store

import (
	"context"
	"time"

	"github.com/treadle-run/treadle/internal/database"
)

// PurgeArchive forgets instances that ended longer ago than that, and returns how
// many.
func (s *Store) PurgeArchive(ctx context.Context, olderThan time.Duration) (int, error) {
	purged := 0
	for {
		var n int64
		err := s.db.InTx(ctx, "purge instances", func(ctx context.Context, t *database.Tx) error {
			n = 0
			now, err := s.db.ReadNow(ctx, t)
			if err != nil {
				return err
			}
			before := now - olderThan.Microseconds()
			keys, err := keysOf(ctx, s.db.Query(`SELECT app, number FROM schedule_archive{index schedule_archive_finished}
				WHERE finished_at < ? ORDER BY finished_at LIMIT ?`,
				before, wakeChunk), t)
			if err != nil || len(keys) == 0 {
				return err
			}
			if err := s.setPurged(ctx, t, before); err != nil {
				return err
			}
			n, err = addAmong(s.db.Query("DELETE FROM schedule_archive WHERE "), keys).Exec(ctx, t)
			return err
		})
		purged += int(n)
		if err != nil || n == 0 {
			return purged, err
		}
	}
}

// setPurged says that there may be holes in the numbers of what ended before then.
func (s *Store) setPurged(ctx context.Context, t *database.Tx, before int64) error {
	_, err := s.db.Query(`INSERT INTO schedule_settings (id, shards, purged_to) VALUES (1, ?, ?){upsert}purged_to = ?`,
		0, before, before).Exec(ctx, t)
	return err
}

// PurgeEvents forgets events of apps that are older than that, and returns how many.
func (s *Store) PurgeEvents(ctx context.Context, olderThan time.Duration) (int, error) {
	purged := 0
	for {
		var n int64
		err := s.db.Do(ctx, "purge events of apps", func(ctx context.Context) error {
			ids, err := numbersOf(ctx, s.db.Query(`SELECT id FROM schedule_events{index schedule_events_at} WHERE at < {now} - ? ORDER BY at
				LIMIT ?`,
				olderThan.Microseconds(), database.ChunkRows), s.db.Reader)
			if err != nil || len(ids) == 0 {
				n = 0
				return err
			}
			n, err = s.db.Query("DELETE FROM schedule_events WHERE id IN {ids}", ids).Exec(ctx, s.db.Writer)
			return err
		})
		purged += int(n)
		if err != nil || n == 0 {
			return purged, err
		}
	}
}

// numbersOf returns the answer's only column.
func numbersOf(ctx context.Context, q *database.Query, db database.Querier) ([]uint64, error) {
	var out []uint64
	err := q.Rows(ctx, db, func(scan func(...any) error) error {
		var n uint64
		err := scan(&n)
		out = append(out, n)
		return err
	})
	return out, err
}
