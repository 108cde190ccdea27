package requests

import (
	"os"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/test/programs"
	"github.com/treadle-run/treadle/test/torture"
)

// TestTorture is the short form of the torture test: half a minute of faults on
// each database. TREADLE_TORTURE_FOR and TREADLE_TORTURE_SEED change that.
func TestTorture(t *testing.T) {
	testkit.Long(t) // make torture runs it for longer
	o := Defaults()
	o.For, o.Say = 30*time.Second, t.Logf
	if s := os.Getenv("TREADLE_TORTURE_FOR"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		o.For = d
	}
	if s := os.Getenv("TREADLE_TORTURE_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		o.Seed = n
	}
	o.Program = programs.Path(t, programs.Treadle)
	for _, db := range []string{torture.OnSQLite, torture.OnMariaDB} {
		t.Run(db, func(t *testing.T) { // one after the other: both are busy
			if db == torture.OnMariaDB && os.Getenv("TREADLE_TEST_MARIADB") != "on" {
				t.Skip("TREADLE_TEST_MARIADB=on runs it on MariaDB as well")
			}
			o.DB = db
			r, err := Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			t.Logf("%s", r)
			if len(r.Violations) > 0 {
				t.Errorf("%d violations, see above", len(r.Violations))
			}
			if r.Accepted == 0 || r.Jobs == 0 || len(r.Faults) == 0 {
				t.Errorf("it shows nothing: %d requests, %d tries, faults %v", r.Accepted, r.Jobs, r.Faults)
			}
		})
	}
}

// The same seed gives the same faults, and a longer time only more of them.
func TestPlanIsAFunctionOfTheSeed(t *testing.T) {
	t.Parallel()
	plan := func(seed uint64, db string, length time.Duration) []torture.Fault {
		o := Defaults()
		o.Seed, o.DB, o.For = seed, db, length
		return Plan(o)
	}
	long := plan(7, torture.OnMariaDB, 30*time.Minute)
	if again := plan(7, torture.OnMariaDB, 30*time.Minute); !reflect.DeepEqual(again, long) {
		t.Error("the second plan is another one")
	}
	brief := plan(7, torture.OnMariaDB, 5*time.Minute)
	if !reflect.DeepEqual(brief, long[:len(brief)]) {
		t.Error("the shorter plan is not the beginning of the longer one")
	}
	if other := plan(8, torture.OnMariaDB, 5*time.Minute); reflect.DeepEqual(brief, other) {
		t.Error("another seed gives the same plan")
	}
	drawn := map[torture.Kind]int{}
	for _, f := range long {
		drawn[f.Kind]++
	}
	for _, w := range kinds {
		if drawn[w.Value] == 0 {
			t.Errorf("no %s in half an hour", w.Value)
		}
	}
	for _, f := range plan(7, torture.OnSQLite, 30*time.Minute) {
		if f.Target == "db" || f.Target == "rm1>db" || f.Target == "rm2" {
			t.Errorf("there is no %s", f.Target)
		}
	}
}
