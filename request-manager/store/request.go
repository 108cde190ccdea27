package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

const (
	maxID      = 20
	stopReason = "stopped by request"
)

// requestColumns are those that scanRequest reads, of requests AS r.
const requestColumns = `r.request_id, r.type, r.user, r.state, r.epoch, r.jr_url, r.created_at,
	r.started_at, r.finished_at, r.stop_requested_at, r.total_jobs, r.finished_jobs, r.reason, r.host`

// scanRequest reads requestColumns and, into more, what stands after them.
func scanRequest(scan func(...any) error, more ...any) (proto.Request, error) {
	var (
		r                          proto.Request
		url                        sql.NullString
		created                    int64
		started, finished, stopped sql.NullInt64
	)
	dest := []any{&r.ID, &r.Type, &r.User, &r.State, &r.Epoch, &url, &created,
		&started, &finished, &stopped, &r.TotalJobs, &r.FinishedJobs, &r.Reason, &r.Host}
	if err := scan(append(dest, more...)...); err != nil {
		return proto.Request{}, err
	}
	r.JobRunnerURL = url.String
	r.CreatedAt = database.FromMicros(created)
	r.StartedAt, r.FinishedAt = database.FromNullMicros(started), database.FromNullMicros(finished)
	r.StopRequested = stopped.Valid
	return r, nil
}

// Request returns the request with its args and without its job chain.
func (s *Store) Request(ctx context.Context, id string) (proto.Request, error) {
	var req proto.Request
	op := "request " + id
	if !plausibleID(id) {
		return req, fmt.Errorf("%s: %w", op, ErrNotFound)
	}
	err := s.db.Do(ctx, op, func(ctx context.Context) error {
		var args []byte
		q := s.db.Query("SELECT "+requestColumns+", r.args FROM requests r WHERE r.request_id = ?", id)
		row := s.db.Reader.QueryRowContext(ctx, q.SQL.String(), q.Args...)
		var err error
		if req, err = scanRequest(row.Scan, &args); err != nil {
			if errors.Is(err, sql.ErrNoRows) {
				return ErrNotFound
			}
			return err
		}
		req.Args, err = decodeArgs(args)
		return err
	})
	return req, err
}

// Requests returns those of the requests that there are, by id, without args and
// job chains.
func (s *Store) Requests(ctx context.Context, ids []string) (map[string]proto.Request, error) {
	out := make(map[string]proto.Request, len(ids))
	err := database.Chunks(ids, func(ids []string) error {
		return s.db.Do(ctx, "requests", func(ctx context.Context) error {
			q := s.db.Query("SELECT "+requestColumns+" FROM requests r WHERE r.request_id IN {ids}", ids)
			return q.Rows(ctx, s.db.Reader, func(scan func(...any) error) error {
				r, err := scanRequest(scan)
				out[r.ID] = r
				return err
			})
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Chain returns the JSON of the request's job chain, as it was created.
func (s *Store) Chain(ctx context.Context, id string) ([]byte, error) {
	op := "job chain of request " + id
	if !plausibleID(id) {
		return nil, fmt.Errorf("%s: %w", op, ErrNotFound)
	}
	var blob []byte
	err := s.db.Do(ctx, op, func(ctx context.Context) error {
		return s.db.Query("SELECT job_chain FROM request_archives WHERE request_id = ?", id).Row(ctx, s.db.Reader, &blob)
	})
	if err != nil {
		return nil, err
	}
	return s.db.DecodeBlob(id, blob)
}

// plausibleID reports whether id can be in the database at all. One with other
// characters would be compared in another character set, without the index.
func plausibleID(id string) bool {
	if id == "" || len(id) > maxID {
		return false
	}
	return isASCII(id)
}

func isASCII(x string) bool {
	for i := range len(x) {
		if x[i] <= ' ' || x[i] >= 0x7f {
			return false
		}
	}
	return true
}

// encodeArgs returns args as they are stored. Values keep their types.
func encodeArgs(args []proto.RequestArg) ([]byte, error) {
	type plain proto.RequestArg
	type typed struct {
		plain
		Default, Value json.RawMessage
		Enum           json.RawMessage `json:",omitempty"`
	}
	out := make([]typed, len(args))
	for i, a := range args {
		t := typed{plain: plain(a)}
		var err error
		if t.Default, err = proto.EncodeValue(a.Default); err != nil {
			return nil, fmt.Errorf("arg %s: default: %w", a.Name, err)
		}
		if t.Value, err = proto.EncodeValue(a.Value); err != nil {
			return nil, fmt.Errorf("arg %s: %w", a.Name, err)
		}
		if len(a.Enum) > 0 {
			if t.Enum, err = proto.EncodeValue(a.Enum); err != nil {
				return nil, fmt.Errorf("arg %s: enum: %w", a.Name, err)
			}
		}
		out[i] = t
	}
	return json.Marshal(out)
}

func decodeArgs(b []byte) ([]proto.RequestArg, error) {
	type plain proto.RequestArg
	var in []struct {
		plain
		Default, Value, Enum json.RawMessage
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return nil, fmt.Errorf("stored args: %w", err)
	}
	if len(in) == 0 {
		return nil, nil
	}
	out := make([]proto.RequestArg, len(in))
	for i, t := range in {
		a := proto.RequestArg(t.plain)
		var err error
		if a.Default, err = decodeValue(t.Default); err != nil {
			return nil, err
		}
		if a.Value, err = decodeValue(t.Value); err != nil {
			return nil, err
		}
		enum, err := decodeValue(t.Enum)
		if err != nil {
			return nil, err
		}
		a.Enum, _ = enum.([]any)
		out[i] = a
	}
	return out, nil
}

func decodeValue(b json.RawMessage) (any, error) {
	if len(b) == 0 {
		return nil, nil
	}
	x, err := proto.DecodeValue(b)
	if err != nil {
		return nil, fmt.Errorf("stored args: %w", err)
	}
	return x, nil
}
