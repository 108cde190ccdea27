package audit

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
)

// The states of requests and of entries, as the database has them.
const (
	stateComplete = 3
	stateFail     = 4
	stateStopped  = 6
)

// request is one request, as the database has it after all.
type request struct {
	id, kind, reason string
	tag              string // its key, which is among its args
	state            int
	epoch            uint64
	created          int64 // Unix microseconds
	finished         sql.NullInt64
	stopAsked        bool
	total, done      int
	log              []entry
	trace            []line
}

// entry is an entry of the job log.
type entry struct {
	seq      uint64
	id       tryID
	name     string
	run      uint64
	state    int
	started  int64
	finished int64
	err      string
}

func (e entry) String() string {
	return fmt.Sprintf("%s entry %d: job %s (%s) try %d epoch %d run %d state %d, began %s %s",
		clock(e.finished), e.seq, e.id.job, e.name, e.id.try, e.id.epoch, e.run, e.state, clock(e.started), e.err)
}

// readRequests reads all requests, with their logs.
func readRequests(ctx context.Context, db *sql.DB) (map[string]*request, error) {
	out := map[string]*request{}
	rows, err := db.QueryContext(ctx, `SELECT request_id, type, reason, args, state, epoch, created_at, finished_at,
		stop_requested_at IS NOT NULL, total_jobs, finished_jobs FROM requests`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		r := &request{}
		var args []byte
		err := rows.Scan(&r.id, &r.kind, &r.reason, &args, &r.state, &r.epoch, &r.created, &r.finished,
			&r.stopAsked, &r.total, &r.done)
		if err != nil {
			return nil, err
		}
		if r.tag, err = tagOf(args); err != nil {
			return nil, fmt.Errorf("args of request %s: %w", r.id, err)
		}
		out[r.id] = r
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return out, readLogs(ctx, db, out)
}

func tagOf(args []byte) (string, error) {
	var list []struct {
		Name  string
		Value any
	}
	if err := json.Unmarshal(args, &list); err != nil {
		return "", err
	}
	for _, a := range list {
		if a.Name == "tag" {
			return fmt.Sprint(a.Value), nil
		}
	}
	return "", nil
}

func readLogs(ctx context.Context, db *sql.DB, requests map[string]*request) error {
	rows, err := db.QueryContext(ctx, `SELECT request_id, seq, job_id, try, epoch, name, run, state, started_at, finished_at, error
		FROM job_log ORDER BY request_id, seq`)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		var e entry
		err := rows.Scan(&id, &e.seq, &e.id.job, &e.id.try, &e.id.epoch, &e.name, &e.run, &e.state, &e.started, &e.finished, &e.err)
		if err != nil {
			return err
		}
		r := requests[id]
		if r == nil {
			return fmt.Errorf("job log of request %s, which does not exist", id)
		}
		r.log = append(r.log, e)
	}
	return rows.Err()
}

// count runs a query that counts.
func count(ctx context.Context, db *sql.DB, query string) (n int, err error) {
	err = db.QueryRowContext(ctx, query).Scan(&n)
	return n, err
}
