package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
)

// Querier is a pool or a transaction.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Query is a statement in the making: text with markers, and the args of these in
// their order. The text can be read, and pasted into a client, as it is.
//
//	?            one value
//	{ids}        a list of ids in parentheses; the arg is a []string, []uint64 or
//	             [][]byte, not empty
//	{now}        the time of the statement in microseconds, by the database's clock:
//	             the same one every time. It has no arg
//	{index NAME} which index to use, so that the plan does not depend on statistics
//	{primary}    the same for the primary key
//	{join}       a join that reads the left table first
//	{lock}       the end of a SELECT that locks what it reads
//	{upsert}     what stands between an INSERT and what is set if the row is there
type Query struct {
	db   *DB
	SQL  strings.Builder
	Args []any
	at   int64 // what {now} says, where the process has the clock
}

// Fragment appends a part of a statement.
type Fragment func(*Query)

// Query starts a statement.
func (d *DB) Query(text string, args ...any) *Query {
	q := &Query{db: d}
	return q.Add(text, args...)
}

// Add appends text and the args of its markers.
func (q *Query) Add(text string, args ...any) *Query {
	for {
		i := strings.IndexAny(text, "?{")
		if i < 0 {
			q.SQL.WriteString(text)
			return q
		}
		q.SQL.WriteString(text[:i])
		if text[i] == '?' {
			q.SQL.WriteByte('?')
			q.Args = append(q.Args, args[0])
			text, args = text[i+1:], args[1:]
			continue
		}
		marker, rest, _ := strings.Cut(text[i+1:], "}")
		if marker == "ids" {
			q.ids(args[0])
			args = args[1:]
		} else {
			q.mark(marker)
		}
		text = rest
	}
}

// mark appends what a marker without an arg stands for.
func (q *Query) mark(marker string) {
	d := q.db.Dialect
	name, arg, _ := strings.Cut(marker, " ")
	switch name {
	case "now":
		q.now()
	case "index":
		q.SQL.WriteString(d.useIndex(arg))
	case "primary":
		q.SQL.WriteString(d.usePrimary)
	case "join":
		q.SQL.WriteString(d.joinInOrder)
	case "lock":
		q.SQL.WriteString(d.forUpdate)
	case "upsert":
		q.SQL.WriteString(d.upsert)
	default:
		panic("unknown marker {" + marker + "} in a statement")
	}
}

func (q *Query) now() {
	if q.db.Config.Now == nil && q.db.Dialect.now != "" {
		q.SQL.WriteString(q.db.Dialect.now)
		return
	}
	if q.at == 0 {
		q.at, _ = q.db.ReadNow(context.Background(), nil) // the process's clock: no query
	}
	q.SQL.WriteByte('?')
	q.Args = append(q.Args, q.at)
}

func (q *Query) ids(list any) {
	switch list := list.(type) {
	case []string:
		addIDs(q, list)
	case []uint64:
		addIDs(q, list)
	case [][]byte:
		addIDs(q, list)
	default:
		panic(fmt.Sprintf("a list of ids is a %T", list))
	}
}

func addIDs[T any](q *Query, ids []T) {
	sep := "(?"
	for _, id := range ids {
		q.SQL.WriteString(sep)
		q.Args = append(q.Args, id)
		sep = ",?"
	}
	q.SQL.WriteByte(')')
}

// Exec runs the statement and returns how many rows it met.
func (q *Query) Exec(ctx context.Context, db Querier) (int64, error) {
	res, err := db.ExecContext(ctx, q.SQL.String(), q.Args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// ExecOne runs a statement that must meet one row.
func (q *Query) ExecOne(ctx context.Context, db Querier) error {
	n, err := q.Exec(ctx, db)
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

// Row scans the one row of the answer; ErrNotFound if there is none.
func (q *Query) Row(ctx context.Context, db Querier, dest ...any) error {
	err := db.QueryRowContext(ctx, q.SQL.String(), q.Args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}

// Rows calls fn for each row of the answer.
func (q *Query) Rows(ctx context.Context, db Querier, fn func(scan func(...any) error) error) (err error) {
	rows, err := db.QueryContext(ctx, q.SQL.String(), q.Args...)
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

// Strings returns the answer's only column.
func (q *Query) Strings(ctx context.Context, db Querier) ([]string, error) {
	var out []string
	err := q.Rows(ctx, db, func(scan func(...any) error) error {
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
	ChunkRows  = 500
	ChunkBytes = 1 << 20
)

// InsertRows runs an INSERT (its text up to and with VALUES) for rows, in as few
// statements as their number and size allow.
func (d *DB) InsertRows(ctx context.Context, db Querier, insert string, rows [][]any) error {
	for len(rows) > 0 {
		q := d.Query(insert)
		n, size := 0, 0
		for n < len(rows) && n < ChunkRows && (n == 0 || size+rowSize(rows[n]) <= ChunkBytes) {
			sep := ",("
			if n == 0 {
				sep = " ("
			}
			q.Add(sep+strings.Repeat("?,", len(rows[n])-1)+"?)", rows[n]...)
			size += rowSize(rows[n])
			n++
		}
		if _, err := q.Exec(ctx, db); err != nil {
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

// Chunks calls fn with parts of xs of at most chunkRows.
func Chunks[T any](xs []T, fn func([]T) error) error {
	for len(xs) > 0 {
		n := min(len(xs), ChunkRows)
		if err := fn(xs[:n]); err != nil {
			return err
		}
		xs = xs[n:]
	}
	return nil
}
