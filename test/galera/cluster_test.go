package galera_test

import (
	"database/sql"
	"fmt"
	"os"
	"testing"

	"github.com/treadle-run/treadle/test/galera"
)

// A node that was killed comes back with what was written meanwhile. It takes a
// while, so that it runs when it is asked for: TREADLE_TEST_GALERA=on.
func TestNodesAreKilledAndComeBack(t *testing.T) {
	t.Parallel()
	if os.Getenv("TREADLE_TEST_GALERA") != "on" {
		t.Skip("TREADLE_TEST_GALERA is not on")
	}
	c, err := galera.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Stop()
	name, err := c.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exec := func(node int, stmt string) {
		t.Helper()
		db, err := sql.Open("mysql", c.Node(node).DSN(name))
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if _, err := db.ExecContext(t.Context(), stmt); err != nil {
			t.Fatal(err)
		}
	}
	exec(0, "CREATE TABLE x (id INT PRIMARY KEY)")
	for i := range c.Size() {
		exec(i, fmt.Sprintf("INSERT INTO x VALUES (%d)", i))
	}
	for i := range c.Size() {
		c.Node(i).Kill9()
		exec((i+1)%c.Size(), fmt.Sprintf("INSERT INTO x VALUES (%d)", 10+i))
		if err := c.Node(i).Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("mysql", c.Node(i).DSN(name))
		if err != nil {
			t.Fatal(err)
		}
		var n int
		err = db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM x").Scan(&n)
		if err != nil || n != c.Size()+i+1 {
			t.Errorf("node %d has %d rows, want %d (%v)", i, n, c.Size()+i+1, err)
		}
		db.Close()
	}
}
