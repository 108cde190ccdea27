package store

import (
	"context"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// dropLost takes out the items whose requests are not RUNNING under their epoch,
// and refuses them unless they say what happened already.
func (s *Store) dropLost(ctx context.Context, items []*reportItem) (live []*reportItem, refused []proto.Refusal, err error) {
	now, err := s.requestRows(ctx, items)
	if err != nil {
		return nil, nil, err
	}
	for _, it := range items {
		x, ok := now[it.RequestID]
		if ok && x.state == proto.StateRunning && x.epoch == it.Epoch {
			live = append(live, it)
			continue
		}
		if !ok {
			refused = append(refused, refusal(it.ReportItem, "there is no such request"))
			continue
		}
		done := x.epoch == it.Epoch && it.target != proto.StateRunning &&
			(x.state == it.target || x.stop && x.state == proto.StateStopped)
		if done {
			if done, err = s.allStored(ctx, it); err != nil {
				return nil, nil, err
			}
		}
		if !done {
			refused = append(refused, refusal(it.ReportItem, "the request is %s under epoch %d, not RUNNING under epoch %d", x.state, x.epoch, it.Epoch))
		}
	}
	return live, refused, nil
}

// requestRow is what tells whether a request is still the runner's.
type requestRow struct {
	state proto.State
	epoch uint64
	stop  bool
}

// requestRows returns the requests of the items as they are now, by id.
func (s *Store) requestRows(ctx context.Context, items []*reportItem) (map[string]requestRow, error) {
	now := make(map[string]requestRow, len(items))
	err := database.Chunks(items, func(items []*reportItem) error {
		ids := make([]string, len(items))
		for i, it := range items {
			ids[i] = it.RequestID
		}
		return s.db.Do(ctx, "save report", func(ctx context.Context) error {
			q := s.db.Query("SELECT request_id, state, epoch, stop_requested_at IS NOT NULL FROM requests WHERE request_id IN {ids}", ids)
			return q.Rows(ctx, s.db.Writer, func(scan func(...any) error) error {
				var id string
				var x requestRow
				err := scan(&id, &x.state, &x.epoch, &x.stop)
				now[id] = x
				return err
			})
		})
	})
	return now, err
}

// allStored reports whether all entries of the item are in the log already.
func (s *Store) allStored(ctx context.Context, it *reportItem) (bool, error) {
	stored, err := s.storedEntries(ctx, it)
	if err != nil {
		return false, err
	}
	for i := range it.Entries {
		if !stored[it.Entries[i].Seq].same(it, &it.Entries[i]) {
			return false, nil
		}
	}
	return true, nil
}

// dropGrown takes out and refuses the items whose logs have grown.
func dropGrown(items []*reportItem, grown *grownError) (live []*reportItem, refused []proto.Refusal) {
	for _, it := range items {
		if n, ok := grown.lengths[it.RequestID]; ok {
			refused = append(refused, refusal(it.ReportItem, "the log has %d entries now, not %d", n, *it.LogLength))
		} else {
			live = append(live, it)
		}
	}
	return live, refused
}

// dropStored takes out the entries that are in the log already, and refuses items
// in whose place others stand there.
func (s *Store) dropStored(ctx context.Context, items []*reportItem) (live []*reportItem, refused []proto.Refusal, err error) {
next:
	for _, it := range items {
		stored, err := s.storedEntries(ctx, it)
		if err != nil {
			return nil, nil, err
		}
		var rows [][]any
		for i := range it.Entries {
			e := &it.Entries[i]
			x, ok := stored[e.Seq]
			if ok && !x.same(it, e) {
				refused = append(refused, refusal(it.ReportItem, "entry %d of the log is try %d of job %s under epoch %d", e.Seq, x.try, x.jobID, x.epoch))
				continue next
			}
			if ok {
				continue
			}
			row, err := entryRow(it.RequestID, it.Epoch, e)
			if err != nil {
				return nil, nil, err
			}
			rows = append(rows, row)
		}
		it.rows = rows
		live = append(live, it)
	}
	return live, refused, nil
}

// storedEntry is what tells an entry of the log from another.
type storedEntry struct {
	jobID string
	try   uint
	epoch uint64
}

func (x storedEntry) same(it *reportItem, e *proto.JobLog) bool {
	return x == storedEntry{e.JobID, e.Try, it.Epoch}
}

// storedEntries returns the entries of the log in the item's range, by Seq.
func (s *Store) storedEntries(ctx context.Context, it *reportItem) (map[uint64]storedEntry, error) {
	out := map[uint64]storedEntry{}
	if len(it.Entries) == 0 {
		return out, nil
	}
	first, last := it.Entries[0].Seq, it.Entries[len(it.Entries)-1].Seq
	err := s.db.Do(ctx, "save report", func(ctx context.Context) error {
		return s.db.Query("SELECT seq, job_id, try, epoch FROM job_log WHERE request_id = ? AND seq BETWEEN ? AND ?", it.RequestID, first, last).Rows(ctx, s.db.Writer, func(scan func(...any) error) error {
			var seq uint64
			var x storedEntry
			err := scan(&seq, &x.jobID, &x.try, &x.epoch)
			out[seq] = x
			return err
		})
	})
	return out, err
}
