package store

import (
	"context"
	"database/sql"
	"errors"
	"strings"
)

// querier is a pool or a transaction.
type querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// query is a statement in the making: text with markers, and the args of these in
// their order. The text can be read, and pasted into a client, as it is.
//
//	?            one value
//	{ids}        a list of ids in parentheses; the arg is a []string, not empty
//	{now}        the time of the statement in microseconds, by the database's clock:
//	             the same one every time. It has no arg
//	{index NAME} which index to use, so that the plan does not depend on statistics
//	{primary}    the same for the primary key
//	{join}       a join that reads the left table first
//	{lock}       the end of a SELECT that locks what it reads
//	{upsert}     what stands between an INSERT and what is set if the row is there
type query struct {
	s    *Store
	sql  strings.Builder
	args []any
	at   int64 // what {now} says, where the process has the clock
}

// q starts a statement.
func (s *Store) q(text string, args ...any) *query {
	q := &query{s: s}
	return q.add(text, args...)
}

// add appends text and the args of its markers.
func (q *query) add(text string, args ...any) *query {
	for {
		i := strings.IndexAny(text, "?{")
		if i < 0 {
			q.sql.WriteString(text)
			return q
		}
		q.sql.WriteString(text[:i])
		if text[i] == '?' {
			q.sql.WriteByte('?')
			q.args = append(q.args, args[0])
			text, args = text[i+1:], args[1:]
			continue
		}
		marker, rest, _ := strings.Cut(text[i+1:], "}")
		if marker == "ids" {
			q.ids(args[0].([]string))
			args = args[1:]
		} else {
			q.mark(marker)
		}
		text = rest
	}
}

// mark appends what a marker without an arg stands for.
func (q *query) mark(marker string) {
	d := q.s.dialect
	name, arg, _ := strings.Cut(marker, " ")
	switch name {
	case "now":
		q.now()
	case "index":
		q.sql.WriteString(d.useIndex(arg))
	case "primary":
		q.sql.WriteString(d.usePrimary)
	case "join":
		q.sql.WriteString(d.joinInOrder)
	case "lock":
		q.sql.WriteString(d.forUpdate)
	case "upsert":
		q.sql.WriteString(d.upsert)
	default:
		panic("unknown marker {" + marker + "} in a statement")
	}
}

func (q *query) now() {
	if q.s.cfg.Now == nil && q.s.dialect.now != "" {
		q.sql.WriteString(q.s.dialect.now)
		return
	}
	if q.at == 0 {
		q.at, _ = q.s.readNow(context.Background(), nil) // the process's clock: no query
	}
	q.sql.WriteByte('?')
	q.args = append(q.args, q.at)
}

func (q *query) ids(ids []string) {
	sep := "(?"
	for _, id := range ids {
		q.sql.WriteString(sep)
		q.args = append(q.args, id)
		sep = ",?"
	}
	q.sql.WriteByte(')')
}

// exec runs the statement and returns how many rows it met.
func (q *query) exec(ctx context.Context, db querier) (int64, error) {
	res, err := db.ExecContext(ctx, q.sql.String(), q.args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// execOne runs a statement that must meet one row.
func (q *query) execOne(ctx context.Context, db querier) error {
	n, err := q.exec(ctx, db)
	switch {
	case err != nil:
		return err
	case n == 0:
		return ErrNotUpdated
	case n > 1:
		return ErrMultipleUpdated
	}
	return nil
}

// row scans the one row of the answer; ErrNotFound if there is none.
func (q *query) row(ctx context.Context, db querier, dest ...any) error {
	err := db.QueryRowContext(ctx, q.sql.String(), q.args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

// rows calls fn for each row of the answer.
func (q *query) rows(ctx context.Context, db querier, fn func(scan func(...any) error) error) (err error) {
	rows, err := db.QueryContext(ctx, q.sql.String(), q.args...)
	if err != nil {
		return err
	}
	defer func() {
		if e := rows.Close(); err == nil {
			err = e
		}
	}()
	for rows.Next() {
		if err := fn(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

// strings returns the answer's only column.
func (q *query) strings(ctx context.Context, db querier) ([]string, error) {
	var out []string
	err := q.rows(ctx, db, func(scan func(...any) error) error {
		var x string
		if err := scan(&x); err != nil {
			return err
		}
		out = append(out, x)
		return nil
	})
	return out, err
}

// How much goes into one statement.
const (
	chunkRows  = 500
	chunkBytes = 1 << 20
)

// insertRows runs an INSERT (its text up to and with VALUES) for rows, in as few
// statements as their number and size allow.
func (s *Store) insertRows(ctx context.Context, db querier, insert string, rows [][]any) error {
	for len(rows) > 0 {
		q := s.q(insert)
		n, size := 0, 0
		for n < len(rows) && n < chunkRows && (n == 0 || size+rowSize(rows[n]) <= chunkBytes) {
			sep := ",("
			if n == 0 {
				sep = " ("
			}
			q.add(sep+strings.Repeat("?,", len(rows[n])-1)+"?)", rows[n]...)
			size += rowSize(rows[n])
			n++
		}
		if _, err := q.exec(ctx, db); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// rowSize guesses how many bytes a row takes in a statement.
func rowSize(row []any) int {
	n := 0
	for _, x := range row {
		switch x := x.(type) {
		case string:
			n += len(x)
		case []byte:
			n += len(x)
		default:
			n += 8
		}
	}
	return n
}

// chunks calls fn with parts of xs of at most chunkRows.
func chunks[T any](xs []T, fn func([]T) error) error {
	for len(xs) > 0 {
		n := min(len(xs), chunkRows)
		if err := fn(xs[:n]); err != nil {
			return err
		}
		xs = xs[n:]
	}
	return nil
}
