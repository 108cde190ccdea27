package schedule

import (
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/test/programs"
	"github.com/treadle-run/treadle/test/torture"
)

// TestTorture is the short form of the torture test: 75 seconds of faults on a
// MariaDB, with the race detector, and 30 on SQLite.
func TestTorture(t *testing.T) {
	t.Parallel()
	testkit.Long(t) // make torture-schedule runs it for longer
	o := Defaults()
	if s := os.Getenv("TREADLE_TEST_SLACK"); s != "" {
		var err error
		if o.Slack, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	o.Program, o.Args = programs.RacePath(t, programs.TreadleTorture), []string{"schedule", "member"}
	for _, tt := range []struct {
		db      string
		length  time.Duration
		members int
		jobs    int
	}{
		{torture.OnMariaDB, 75 * time.Second, 4, 40},
		{torture.OnSQLite, 30 * time.Second, 1, 20},
	} {
		t.Run(tt.db, func(t *testing.T) {
			t.Parallel()
			if tt.db == torture.OnMariaDB && os.Getenv("TREADLE_TEST_MARIADB") != "on" {
				t.Skip("TREADLE_TEST_MARIADB=on runs it on MariaDB as well")
			}
			o := o
			o.DB, o.For, o.Members, o.Jobs, o.Say = tt.db, tt.length, tt.members, tt.jobs, t.Logf
			r, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s", r)
			if len(r.Violations) > 0 {
				t.Errorf("%d violations, see above", len(r.Violations))
			}
			kinds := []torture.Kind{MemberKill, MemberStop}
			if tt.db == torture.OnMariaDB {
				kinds = append(kinds, torture.DBKill, MemberAdd, Shards)
			}
			for _, k := range kinds {
				if r.Faults[k] == 0 {
					t.Errorf("there was no %s: %v", k, r.Faults)
				}
			}
			if r.Succeeded == 0 || r.Failed == 0 || r.Looks == 0 || len(r.Faults) == 0 {
				t.Errorf("it shows nothing: %d succeeded, %d failed, %d looks, faults %v", r.Succeeded, r.Failed, r.Looks, r.Faults)
			}
		})
	}
}
