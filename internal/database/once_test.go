package database_test

import (
	"context"
	"testing"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/internal/database/databasetest"
	"github.com/treadle-run/treadle/internal/testkit"
)

// TestOnce makes changes whose answers are lost, or which do not go through.
func TestOnce(t *testing.T) {
	row := database.RowOf("SELECT change_token FROM counters WHERE id = ?", 1)
	const count = "UPDATE counters SET change_token = ?, n = n + 1 WHERE id = 1"
	const other = "UPDATE counters SET change_token = 7 WHERE id = 1"
	type faults struct{ lose, fail func() }
	for _, c := range []struct {
		name  string
		fault func(f faults)
		after string // what another one does then
		calls int    // of the change
		n     int    // how often it is done
	}{
		{"nothing happens", func(faults) {}, "", 1, 1},
		{"the answer is lost", func(f faults) { f.lose() }, "", 1, 1},
		{"it fails", func(f faults) { f.fail() }, "", 2, 1},
		// From the row as it is: whoever compares and sets is refused then.
		{"the answer is lost, and another change comes", func(f faults) { f.lose() }, other, 2, 2},
	} {
		for name, once := range map[string]func(ctx context.Context, db *database.DB, do func(ctx context.Context, on database.Querier, token database.Token) error) error{
			"in a transaction": func(ctx context.Context, db *database.DB, do func(context.Context, database.Querier, database.Token) error) error {
				return db.InTxOnce(ctx, "count", row, func(ctx context.Context, t *database.Tx) error { return do(ctx, t, t.Token) })
			},
			"alone": func(ctx context.Context, db *database.DB, do func(context.Context, database.Querier, database.Token) error) error {
				return db.DoOnce(ctx, "count", row, func(ctx context.Context, token database.Token) error { return do(ctx, db.Writer, token) })
			},
		} {
			t.Run(c.name+" "+name, func(t *testing.T) {
				databasetest.EachConfig(t, func(t *testing.T, cfg database.Config) {
					db := databasetest.Open(t, cfg)
					another := databasetest.Open(t, cfg)
					exec := func(text string) {
						t.Helper()
						_, err := another.Writer.ExecContext(t.Context(), text)
						testkit.Must(t, err)
					}
					exec("CREATE TABLE counters (id BIGINT NOT NULL PRIMARY KEY, n BIGINT NOT NULL, change_token BIGINT NULL)")
					exec("INSERT INTO counters (id, n) VALUES (1, 0)")
					between := func() {
						if c.after != "" {
							exec(c.after)
						}
					}
					lose, fail := databasetest.Faults(t, db, between)
					c.fault(faults{lose, fail})
					calls := 0
					err := once(t.Context(), db, func(ctx context.Context, on database.Querier, token database.Token) error {
						calls++
						return db.Query(count, token).ExecOne(ctx, on)
					})
					testkit.Must(t, err)
					var n int
					testkit.Must(t, db.Query("SELECT n FROM counters").Row(t.Context(), db.Writer, &n))
					if calls != c.calls || n != c.n {
						t.Errorf("called %d times and done %d times, want %d and %d", calls, n, c.calls, c.n)
					}
				})
			})
		}
	}
}
