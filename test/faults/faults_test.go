package main

import (
	"os"
	"reflect"
	"strconv"
	"testing"
	"time"
)

// TestTorture is the short form of the torture test: half a minute of faults on
// each database. TREADLE_TORTURE_FOR and TREADLE_TORTURE_SEED change that.
func TestTorture(t *testing.T) {
	if testing.Short() {
		t.Skip("takes two minutes; make torture runs it for longer")
	}
	o := defaults()
	o.length, o.say = 30*time.Second, t.Logf
	if s := os.Getenv("TREADLE_TORTURE_FOR"); s != "" {
		d, err := time.ParseDuration(s)
		if err != nil {
			t.Fatal(err)
		}
		o.length = d
	}
	if s := os.Getenv("TREADLE_TORTURE_SEED"); s != "" {
		n, err := strconv.ParseUint(s, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		o.seed = n
	}
	for _, db := range []string{onSQLite, onMariaDB} {
		t.Run(db, func(t *testing.T) { // one after the other: both are busy
			if db == onMariaDB && os.Getenv("TREADLE_TEST_MARIADB") != "on" {
				t.Skip("TREADLE_TEST_MARIADB=on runs it on MariaDB as well")
			}
			o.db = db
			r, err := torture(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
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
	const gap = 5 * time.Second
	all := topology{rms: 2, jrs: 3, databases: 1}
	long := plan(7, all, gap, 30*time.Minute)
	if again := plan(7, all, gap, 30*time.Minute); !reflect.DeepEqual(again, long) {
		t.Error("the second plan is another one")
	}
	brief := plan(7, all, gap, 5*time.Minute)
	if !reflect.DeepEqual(brief, long[:len(brief)]) {
		t.Error("the shorter plan is not the beginning of the longer one")
	}
	if other := plan(8, all, gap, 5*time.Minute); reflect.DeepEqual(brief, other) {
		t.Error("another seed gives the same plan")
	}
	kinds := map[kind]int{}
	for _, f := range long {
		kinds[f.Kind]++
	}
	for _, w := range weights {
		if kinds[w.kind] == 0 {
			t.Errorf("no %s in half an hour", w.kind)
		}
	}
	for _, f := range plan(7, topology{rms: 1, jrs: 3}, gap, 30*time.Minute) {
		if f.Target == "db" || f.Target == "rm1>db" || f.Target == "rm2" {
			t.Errorf("there is no %s", f.Target)
		}
	}
}
