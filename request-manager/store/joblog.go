package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// maxError is how much is kept of the error of a job log entry, in bytes.
const maxError = 1 << 20

// A page of the log is what is read at once.
const (
	logPageRows  = 500
	logPageBytes = 8 << 20
)

const entryColumns = `request_id, seq, job_id, try, run, epoch, name, type, started_at, finished_at,
	state, exit_code, timed_out, error, stdout, stderr, data`

const insertEntry = "INSERT INTO job_log (" + entryColumns + ") VALUES"

// entryRow returns the row of an entry of the request under the epoch.
func entryRow(requestID string, epoch uint64, e *proto.JobLog) ([]any, error) {
	var data any
	if len(e.Data) > 0 {
		b, err := e.Data.MarshalJSON()
		if err != nil {
			return nil, fmt.Errorf("data of job %s: %w", e.JobID, err)
		}
		data = string(b)
	}
	stdout, stderr := e.Output()
	return []any{
		requestID, e.Seq, e.JobID, e.Try, e.Run, epoch,
		database.CleanText(e.Name, 0), database.CleanText(e.Type, 0), e.StartedAt, e.FinishedAt,
		e.State, e.Exit, e.TimedOut, database.CleanText(e.Error, maxError),
		nullableBytes(stdout), nullableBytes(stderr), data,
	}, nil
}

func nullableBytes(b []byte) any {
	if len(b) == 0 {
		return nil
	}
	return b
}

func scanEntry(scan func(...any) error) (proto.JobLog, int, error) {
	var e proto.JobLog
	var stdout, stderr, data []byte
	err := scan(&e.RequestID, &e.Seq, &e.JobID, &e.Try, &e.Run, &e.Epoch, &e.Name, &e.Type,
		&e.StartedAt, &e.FinishedAt, &e.State, &e.Exit, &e.TimedOut, &e.Error, &stdout, &stderr, &data)
	if err != nil {
		return e, 0, err
	}
	e.SetOutput(stdout, stderr)
	if len(data) > 0 {
		if err := e.Data.UnmarshalJSON(data); err != nil {
			return e, 0, fmt.Errorf("stored data of entry %d of request %s: %w", e.Seq, e.RequestID, err)
		}
	}
	return e, len(stdout) + len(stderr) + len(data), nil
}

// JobLog returns the whole log of the request, in the order of Seq.
func (s *Store) JobLog(ctx context.Context, id string) ([]proto.JobLog, error) {
	var out []proto.JobLog
	err := s.EachJobLog(ctx, id, func(e *proto.JobLog) error {
		out = append(out, *e)
		return nil
	})
	return out, err
}

// EachJobLog calls fn for each entry of the request's log, in the order of Seq. It
// reads in pages, so that a long log needs little memory, and ends with the first
// error of fn.
func (s *Store) EachJobLog(ctx context.Context, id string, fn func(*proto.JobLog) error) error {
	if !plausibleID(id) {
		return nil
	}
	var next uint64
	for {
		page, more, err := s.logPage(ctx, id, next)
		if err != nil {
			return err
		}
		for i := range page {
			if err := fn(&page[i]); err != nil {
				return err
			}
		}
		if !more {
			return nil
		}
		next = page[len(page)-1].Seq + 1
	}
}

var errPageFull = errors.New("page is full")

func (s *Store) logPage(ctx context.Context, id string, from uint64) (page []proto.JobLog, more bool, err error) {
	err = s.db.Do(ctx, "job log of request "+id, func(ctx context.Context) error {
		page = nil
		size := 0
		err := s.db.Query("SELECT "+entryColumns+` FROM job_log
			WHERE request_id = ? AND seq >= ? ORDER BY seq LIMIT ?`,
			id, from, logPageRows).Rows(ctx, s.db.Reader, func(scan func(...any) error) error {
			e, n, err := scanEntry(scan)
			if err != nil {
				return err
			}
			page = append(page, e)
			if size += n; size >= logPageBytes {
				return errPageFull
			}
			return nil
		})
		more = errors.Is(err, errPageFull) || len(page) == logPageRows
		if errors.Is(err, errPageFull) {
			return nil
		}
		return err
	})
	return page, more, err
}

// LastJobLog returns the entry for the last try of the job; ErrNotFound if none
// of its tries has ended.
func (s *Store) LastJobLog(ctx context.Context, id, jobID string) (proto.JobLog, error) {
	var out proto.JobLog
	op := fmt.Sprintf("job log of job %s of request %s", jobID, id)
	if !plausibleID(id) || !isASCII(jobID) {
		return out, fmt.Errorf("%s: %w", op, ErrNotFound)
	}
	err := s.db.Do(ctx, op, func(ctx context.Context) error {
		found := false
		err := s.db.Query("SELECT "+entryColumns+` FROM job_log{index job_log_job}
			WHERE request_id = ? AND job_id = ? ORDER BY try DESC LIMIT 1`,
			id, jobID).
			Rows(ctx, s.db.Reader, func(scan func(...any) error) error {
				var err error
				out, _, err = scanEntry(scan)
				found = true
				return err
			})
		if err == nil && !found {
			return ErrNotFound
		}
		return err
	})
	return out, err
}

// AppendLog adds one entry at the end of the log of a request that is RUNNING
// under epoch; e.Seq is ignored. An entry for the same try under the same epoch
// that is there already is left as it is.
func (s *Store) AppendLog(ctx context.Context, epoch uint64, e proto.JobLog) error {
	id := e.RequestID
	if err := e.Check(id); err != nil {
		return fmt.Errorf("append to the log of request %s: %w", id, err)
	}
	return s.db.InTx(ctx, "append to the log of request "+id, func(ctx context.Context, t *database.Tx) error {
		// The row's lock lets one writer at a time count the entries.
		err := s.db.Query(`UPDATE requests SET updated_at = {now} WHERE request_id = ? AND state = ? AND epoch = ?`,
			id, proto.StateRunning, epoch).ExecOne(ctx, t)
		if err != nil {
			return err
		}
		var same int
		err = s.db.Query(`SELECT COUNT(*) FROM job_log WHERE request_id = ? AND job_id = ? AND try = ? AND epoch = ?`,
			id, e.JobID, e.Try, epoch).Row(ctx, t, &same)
		if err != nil || same > 0 {
			return err
		}
		err = s.db.Query("SELECT COALESCE(MAX(seq) + 1, 0) FROM job_log WHERE request_id = ?", id).Row(ctx, t, &e.Seq)
		if err != nil {
			return err
		}
		row, err := entryRow(id, epoch, &e)
		if err != nil {
			return err
		}
		return s.db.InsertRows(ctx, t, insertEntry, [][]any{row})
	})
}

// SetProgress sets how many jobs of a request that is RUNNING under epoch have
// finished.
func (s *Store) SetProgress(ctx context.Context, id string, epoch uint64, finishedJobs uint) error {
	return s.db.Do(ctx, "progress of request "+id, func(ctx context.Context) error {
		return s.db.Query(`UPDATE requests SET finished_jobs = ?, updated_at = {now}
			WHERE request_id = ? AND state = ? AND epoch = ?`,
			finishedJobs, id, proto.StateRunning, epoch).ExecOne(ctx, s.db.Writer)
	})
}
