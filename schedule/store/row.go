package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// The columns that scanInstance reads: of instances that are live, without and with
// conf, and of archived ones, without and with conf and result.
const (
	firstColumns = `app, number, sequence_number, member, name, state, period_start, period_end, run,
		host, due_at, started_at, timeout_at, recurring, request_id, undo_request_id, undo_tries, reason`
	liveLight    = firstColumns + ", waits_for, NULL, NULL, NULL"
	liveFull     = firstColumns + ", waits_for, NULL, conf, NULL"
	archiveLight = firstColumns + ", NULL, finished_at, NULL, NULL"
	archiveFull  = firstColumns + ", NULL, finished_at, conf, result"
)

// scanInstance reads one of the lists of columns and, into more, what stands after
// them.
func scanInstance(scan func(...any) error, more ...any) (proto.Instance, error) {
	var (
		in                           proto.Instance
		start, end, due              int64
		started, timeout, finished   sql.NullInt64
		member, request, undo, waits sql.NullString
		conf, result                 []byte
	)
	dest := []any{&in.App, &in.Number, &in.Sequence, &member, &in.Name, &in.State, &start, &end, &in.Run,
		&in.Host, &due, &started, &timeout, &in.Recurring, &request, &undo, &in.UndoTries, &in.Reason,
		&waits, &finished, &conf, &result}
	if err := scan(append(dest, more...)...); err != nil {
		return proto.Instance{}, err
	}
	in.Member, in.RequestID, in.UndoRequestID, in.WaitsFor = member.String, request.String, undo.String, waits.String
	in.PeriodStart, in.PeriodEnd, in.Due = database.FromMicros(start), database.FromMicros(end), database.FromMicros(due)
	in.StartedAt, in.TimeoutAt, in.FinishedAt = database.FromNullMicros(started), database.FromNullMicros(timeout), database.FromNullMicros(finished)
	if len(conf) > 0 {
		in.Conf = conf
	}
	if len(result) > 0 {
		in.Result = result
	}
	return in, nil
}

// instancesOf returns the answer of a query for one of the lists of columns.
func instancesOf(ctx context.Context, q *database.Query, db database.Querier) ([]proto.Instance, error) {
	var out []proto.Instance
	err := q.Rows(ctx, db, func(scan func(...any) error) error {
		in, err := scanInstance(scan)
		out = append(out, in)
		return err
	})
	return out, err
}

// instanceOf returns the one instance of the answer; ErrNotFound if there is none.
func instanceOf(ctx context.Context, q *database.Query, db database.Querier) (proto.Instance, error) {
	list, err := instancesOf(ctx, q, db)
	if err == nil && len(list) == 0 {
		err = ErrNotFound
	}
	if err != nil {
		return proto.Instance{}, err
	}
	return list[0], nil
}

// insertInstance makes the newest instance of an app, which holds its number as
// last_number. The caller has locked the app. The error is ErrStaleApp if it is
// deleted.
func (s *Store) insertInstance(ctx context.Context, t *database.Tx, app string, n *NewInstance) error {
	if err := database.CheckName("instance", n.Name, maxInstance); err != nil {
		return err
	}
	var next any
	if n.Recurring {
		next = app
	}
	start := n.PeriodStart.UnixMicro()
	// run is how often the period was run before.
	err := s.db.Query(`INSERT INTO schedule_instances (app, number, bucket, state, sequence_number, undo_tries, held,
		fetch_at, run, name, period_start, period_end, due_at, host, recurring, next_of, reason, conf, created_at)
		SELECT a.name, a.last_number, a.bucket, ?, 1, 0, 0, CASE WHEN a.paused = 1 THEN NULL ELSE ? END,
		(SELECT COALESCE(MAX(x.run) + 1, 0) FROM schedule_archive x{index schedule_archive_period}
			WHERE x.app = ? AND x.period_start = ?),
		?, ?, ?, ?, ?, ?, ?, CASE WHEN a.paused = 1 THEN ? ELSE ? END, ?, {now} FROM schedule_apps a
			WHERE a.name = ? AND a.deleted_at IS NULL`,
		proto.InstanceQueued, n.fetchAt(), app, start,
		n.Name, start, n.PeriodEnd.UnixMicro(), n.Due.UnixMicro(), n.Host, n.Recurring, next, ReasonPaused, database.CleanReason(n.Reason), nullJSON(n.Conf), app).ExecOne(ctx, t)
	if errors.Is(err, ErrNotUpdated) {
		return fmt.Errorf("%w: it is deleted", ErrStaleApp)
	}
	return err
}

// insertNext makes the recurring instance that comes next. The caller has locked
// the app and counted last_number up. If an instance of that period is live, that
// one becomes the recurring one; if one waits already, there is nothing to do. Then
// last_number goes back.
func (s *Store) insertNext(ctx context.Context, t *database.Tx, app string, n *NewInstance) error {
	next := *n
	next.Recurring = true
	err := s.insertInstance(ctx, t, app, &next)
	if err == nil || s.db.Dialect.Classify(err) != database.ClassDuplicate {
		return err
	}
	if err := s.db.Query("UPDATE schedule_apps SET last_number = last_number - 1 WHERE name = ?", app).ExecOne(ctx, t); err != nil {
		return err
	}
	return s.adoptNext(ctx, t, app, n.PeriodStart)
}

// adoptNext makes the live instance of a period the recurring one, unless there is
// one that waits. Who works on it keeps it.
func (s *Store) adoptNext(ctx context.Context, t *database.Tx, app string, start time.Time) error {
	var waiting int
	err := s.db.Query("SELECT COUNT(*) FROM schedule_instances WHERE next_of = ?", app).Row(ctx, t, &waiting)
	if err != nil || waiting > 0 {
		return err
	}
	_, err = s.db.Query(`UPDATE schedule_instances SET recurring = 1, next_of = CASE WHEN state = ? THEN app ELSE NULL END,
		sequence_number = sequence_number + CASE WHEN state = ? THEN 1 ELSE 0 END
		WHERE app = ? AND period_start = ?`, proto.InstanceQueued, proto.InstanceQueued, app, start.UnixMicro()).Exec(ctx, t)
	return err
}

// moveQueued moves an instance that waits to another period. The WHERE follows.
func (s *Store) moveQueued(app string, n *NewInstance) *database.Query {
	start := n.PeriodStart.UnixMicro()
	return s.db.Query(`UPDATE schedule_instances SET sequence_number = sequence_number + 1, held = 0,
		run = (SELECT COALESCE(MAX(x.run) + 1, 0) FROM schedule_archive x{index schedule_archive_period}
			WHERE x.app = ? AND x.period_start = ?),
		name = ?, period_start = ?, period_end = ?, due_at = ?, host = ?, conf = ?,
		reason = CASE WHEN (SELECT a.paused FROM schedule_apps a WHERE a.name = ?) = 1 THEN ? ELSE ? END,
		fetch_at = CASE WHEN (SELECT a.paused FROM schedule_apps a WHERE a.name = ?) = 1 THEN NULL ELSE ? END`,
		app, start, n.Name, start, n.PeriodEnd.UnixMicro(), n.Due.UnixMicro(), n.Host, nullJSON(n.Conf),
		app, ReasonPaused, database.CleanReason(n.Reason), app, n.fetchAt())
}

func nullJSON(b json.RawMessage) any {
	if len(b) == 0 {
		return nil
	}
	return string(b)
}

// nullZero is NULL for 0.
func nullZero[T comparable](x T) any {
	var zero T
	if x == zero {
		return nil
	}
	return x
}

func nullText(x string) any {
	if x == "" {
		return nil
	}
	return x
}

func nullTime(t *time.Time) any {
	if t == nil {
		return nil
	}
	return t.UnixMicro()
}
