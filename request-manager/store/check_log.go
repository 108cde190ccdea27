package store

import (
	"context"
	"errors"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// recount is a request whose finished jobs only a replay of its log can count.
type recount struct {
	id      string
	state   proto.State
	entries uint64
	done    uint // that the request says
}

// logSum sums up the log of a request.
type logSum struct {
	entries, first, last, epoch uint64
	failed                      uint64
	started                     int64 // the last try, in nanoseconds by the runner's clock
	complete                    uint  // jobs whose last try is COMPLETE
}

// checkLogs looks at the logs of the page's requests, a bounded number of jobs at a
// time.
func (c *checker) checkLogs(ctx context.Context, t *database.Tx, page []*checkRow, f *found) error {
	for len(page) > 0 {
		n, jobs := 0, uint(0)
		for n < len(page) && (n == 0 || jobs+page[n].total <= checkJobs) {
			jobs += page[n].total
			n++
		}
		if err := c.checkSomeLogs(ctx, t, page[:n], f); err != nil {
			return err
		}
		page = page[n:]
	}
	return nil
}

func (c *checker) checkSomeLogs(ctx context.Context, t *database.Tx, page []*checkRow, f *found) error {
	ids := make([]string, len(page))
	for i, r := range page {
		ids[i] = r.id
	}
	sums, err := c.s.sumLogs(ctx, t, ids)
	if err != nil {
		return err
	}
	var logged []string
	for _, r := range page {
		sum := sums[r.id]
		if sum == nil {
			sum = &logSum{}
		} else {
			logged = append(logged, r.id)
		}
		c.checkSum(r, sum, f)
	}
	if len(logged) == 0 {
		return nil
	}
	if err := c.checkRerun(ctx, t, logged, f); err != nil {
		return err
	}
	return c.checkEpochs(ctx, t, logged, f)
}

// checkSum compares a request with the sum of its log.
func (c *checker) checkSum(r *checkRow, sum *logSum, f *found) {
	if sum.entries > 0 && (sum.first != 0 || sum.last != sum.entries-1) {
		f.add(CheckLogGap, r.id, "its log has %d entries, numbered %d to %d", sum.entries, sum.first, sum.last)
		return
	}
	if sum.epoch > r.epoch {
		f.add(CheckLogEpoch, r.id, "its log has an entry under epoch %d, but its epoch is %d", sum.epoch, r.epoch)
	}
	if r.state == proto.StatePending && sum.entries > 0 {
		f.add(CheckLogPending, r.id, "it is PENDING, and its log has %d entries", sum.entries)
	}
	if r.state.Final() && r.finished.Valid {
		late := time.Duration(sum.started - r.finished.Int64*1000)
		if late > c.opt.ClockSkew {
			f.add(CheckLogAfterEnd, r.id, "a try began %s after it was %s", seconds(late), r.state)
		}
	}
	if r.done > r.total {
		f.add(CheckFinished, r.id, "%d of %d jobs have finished", r.done, r.total)
		return
	}
	// While it is RUNNING, the count may be behind the log.
	if r.state == proto.StateRunning || r.state == proto.StatePending {
		return
	}
	switch {
	case r.state == proto.StateComplete && (r.done != r.total || sum.complete != r.total):
		f.add(CheckFinished, r.id, "it is COMPLETE, %d of %d jobs have finished, and by its log %d", r.done, r.total, sum.complete)
	case sum.complete == r.done:
	case sum.failed == 0 || sum.complete < r.done:
		f.add(CheckFinished, r.id, "it is %s, %d jobs have finished, and by its log %d", r.state, r.done, sum.complete)
	default:
		// A sequence that starts again makes its jobs unfinished.
		f.replay = append(f.replay, recount{r.id, r.state, sum.entries, r.done})
	}
}

// recount asks for replays.
func (c *checker) recount(ctx context.Context, rs []recount) error {
	if c.opt.Replay == nil {
		return nil
	}
	f := &found{}
	for _, r := range rs {
		n, err := c.opt.Replay(ctx, r.id, r.entries)
		switch {
		case errors.Is(err, ErrNotCounted):
		case err != nil && (ctx.Err() != nil || errors.Is(err, ErrUnavailable)):
			return err
		case err != nil:
			f.add(CheckFinished, r.id, "its log does not fit its job chain: %v", err)
		case n != r.done:
			f.add(CheckFinished, r.id, "it is %s, %d jobs have finished, and by its log %d", r.state, r.done, n)
		}
	}
	c.take(f)
	return nil
}

// sumLogs sums up the logs that have entries, by request id.
func (s *Store) sumLogs(ctx context.Context, t *database.Tx, ids []string) (map[string]*logSum, error) {
	sums := map[string]*logSum{}
	err := s.db.Query(`SELECT request_id, COUNT(*), MIN(seq), MAX(seq), MAX(epoch), MAX(started_at),
		SUM(CASE WHEN state = ? OR timed_out <> '' THEN 1 ELSE 0 END) FROM job_log{primary}
		WHERE request_id IN {ids} GROUP BY request_id`,
		proto.StateFail, ids).
		Rows(ctx, t, func(scan func(...any) error) error {
			var id string
			x := &logSum{}
			err := scan(&id, &x.entries, &x.first, &x.last, &x.epoch, &x.started, &x.failed)
			sums[id] = x
			return err
		})
	if err != nil || len(sums) == 0 {
		return sums, err
	}
	err = s.db.Query(`SELECT l.request_id, COUNT(*) FROM job_log l{primary}
		WHERE l.state = ? AND l.request_id IN {ids} AND NOT EXISTS (SELECT 1
		FROM job_log x{index job_log_job}
		WHERE x.request_id = l.request_id AND x.job_id = l.job_id AND x.try > l.try)
		GROUP BY l.request_id`, proto.StateComplete, ids).
		Rows(ctx, t, func(scan func(...any) error) error {
			var id string
			var n uint
			err := scan(&id, &n)
			if sums[id] != nil {
				sums[id].complete = n
			}
			return err
		})
	return sums, err
}

// checkRerun looks for jobs that were tried again after they were COMPLETE, though
// no sequence around them had started again.
func (c *checker) checkRerun(ctx context.Context, t *database.Tx, ids []string, f *found) error {
	return c.s.db.Query(`SELECT a.request_id, a.job_id, a.try, a.seq, b.try, b.seq
		FROM job_log a{primary} {join} job_log b{index job_log_job} ON b.request_id = a.request_id
		AND b.job_id = a.job_id AND b.seq > a.seq AND b.run = a.run
			WHERE a.state = ? AND a.request_id IN {ids} LIMIT ?`, proto.StateComplete, ids, c.opt.Findings+1).
		Rows(ctx, t, func(scan func(...any) error) error {
			var id, job string
			var try, seq, againTry, againSeq uint64
			err := scan(&id, &job, &try, &seq, &againTry, &againSeq)
			f.add(CheckRerun, id, "job %s was COMPLETE in try %d (entry %d), and then had try %d (entry %d)", job, try, seq, againTry, againSeq)
			return err
		})
}

// checkEpochs looks for entries that stand after one of a later epoch.
func (c *checker) checkEpochs(ctx context.Context, t *database.Tx, ids []string, f *found) error {
	return c.s.db.Query(`SELECT a.request_id, b.seq, b.epoch, a.epoch
		FROM job_log a{primary} {join} job_log b{primary} ON b.request_id = a.request_id AND b.seq = a.seq + 1
		WHERE b.epoch < a.epoch AND a.request_id IN {ids} LIMIT ?`, ids, c.opt.Findings+1).
		Rows(ctx, t, func(scan func(...any) error) error {
			var id string
			var seq, epoch, before uint64
			err := scan(&id, &seq, &epoch, &before)
			f.add(CheckLogEpoch, id, "entry %d of its log is under epoch %d, the one before it under epoch %d", seq, epoch, before)
			return err
		})
}
