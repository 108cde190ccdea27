package database

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
)

// Token is a random number by which a change is known: it is stored with the change, in
// the column change_token of one of the rows that it writes.
type Token int64

// NewToken returns a token that no other change has.
func NewToken() Token { return Token(rand.Int64()) }

// Row is a row of which a change writes the column change_token.
type Row struct {
	sql string
	key []any
}

// RowOf names a row by a statement that reads its change_token, by its primary key.
func RowOf(text string, key ...any) Row { return Row{text, key} }

// InTxOnce is InTx for a change that must not happen twice, or whose caller must know
// whether it is the one who made it. The answer to a commit may be lost though it went
// through; the next try then finds the token of the change in the row, does nothing, and
// what fn left behind in its first try counts. fn sets change_token of the row to the
// Token of its Tx wherever it changes anything.
//
// The row is asked only after a commit that failed, and under its lock, so that a
// transaction that the server is still about to commit is waited for. Another change of the
// row in between takes the token away: then the change starts again, from the row as it is.
func (d *DB) InTxOnce(ctx context.Context, op string, row Row, fn func(ctx context.Context, t *Tx) error) error {
	token, unsure := NewToken(), false
	return d.Do(ctx, op, func(ctx context.Context) error {
		return d.inTx(ctx, func(ctx context.Context, t *sql.Tx) error {
			done, err := unsure, error(nil)
			if unsure {
				done, err = d.has(ctx, t, row, token)
			}
			if err == nil && !done {
				err = fn(ctx, &Tx{Tx: t, DB: d, Token: token})
			}
			if err != nil || done {
				_ = t.Rollback() // it cannot be worse than err, and has nothing to take back if done
				return err
			}
			unsure = true
			return t.Commit()
		})
	})
}

// DoOnce is InTxOnce for a change by one statement, which needs no transaction.
func (d *DB) DoOnce(ctx context.Context, op string, row Row, fn func(ctx context.Context, token Token) error) error {
	token, unsure := NewToken(), false
	return d.Do(ctx, op, func(ctx context.Context) error {
		if unsure {
			if done, err := d.has(ctx, d.Writer, row, token); done || err != nil {
				return err
			}
		}
		unsure = true
		return fn(ctx, token)
	})
}

// has reports whether the row has the token.
func (d *DB) has(ctx context.Context, db Querier, row Row, token Token) (bool, error) {
	var now sql.Null[Token]
	err := d.Query(row.sql+"{lock}", row.key...).Row(ctx, db, &now)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}
	return now.Valid && now.V == token, err
}
