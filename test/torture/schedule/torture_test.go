package schedule

import (
	"errors"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/store"
	"github.com/treadle-run/treadle/test/torture"
)

// The same seed gives the same faults, and a longer time only more of them.
func TestPlanIsAFunctionOfTheSeed(t *testing.T) {
	t.Parallel()
	o := Defaults()
	o.DB = torture.OnGalera
	o.For = 30 * time.Minute
	long := Plan(o)
	if again := Plan(o); !reflect.DeepEqual(again, long) {
		t.Error("the second plan is another one")
	}
	o.For = 5 * time.Minute
	brief := Plan(o)
	if !reflect.DeepEqual(brief, long[:len(brief)]) {
		t.Error("the shorter plan is not the beginning of the longer one")
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
	o.Seed++
	if reflect.DeepEqual(Plan(o), brief) {
		t.Error("another seed gives the same plan")
	}
	o = Options{Store: database.Config{SQLitePath: "x"}, Members: 1, For: 30 * time.Minute, Scale: time.Second}
	for _, f := range Plan(o) {
		if f.Kind == torture.DBKill || f.Kind == torture.DBStop || f.Kind == MemberAdd || f.Kind != Shards && f.Target != "m1" {
			t.Errorf("%s cannot be done", f)
		}
	}
}

// Jobs have calendars, periods of 5 to 9 units, and what depends on others does so on
// those that lose no period.
func TestJobs(t *testing.T) {
	t.Parallel()
	apps, known := jobs("x", 100, time.Second)
	for i, app := range apps {
		if app.Depends == nil {
			if every := known[i].Every; every < 5*time.Second || every > 9*time.Second {
				t.Errorf("%s has a period of %s", app.Name, every)
			}
			if _, err := calendar.New(app); err != nil {
				t.Errorf("%s: %v", app.Name, err)
			}
			continue
		}
		if _, err := calendar.NewPeriod(known[i].Period.String(), ""); err != nil {
			t.Errorf("%s: %v", app.Name, err)
		}
		for j := i - 4; j < i-2; j++ {
			if apps[j].Missed != "all" || apps[j].Overlap == "skip" || known[i].Period%known[j].Every != 0 {
				t.Errorf("%s depends on %+v", app.Name, apps[j])
			}
		}
	}
}

// What was written under a greater token stays, whoever else writes.
func TestArtifactsAreFenced(t *testing.T) {
	t.Parallel()
	c := database.Config{SQLitePath: filepath.Join(t.TempDir(), "t.db")}
	db, err := openDB(c)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	a := newArtifacts(db, "x", false)
	if err := a.create(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		token   uint64
		present bool
		fenced  bool
		want    int
	}{
		{3, true, false, 1}, {3, true, false, 1}, {5, false, false, 0}, {4, true, true, 0}, {6, true, false, 1}, {5, false, true, 1},
	} {
		err := a.put(t.Context(), "app", 1, step.token, step.present)
		if errors.Is(err, errFenced) != step.fenced || err != nil && !step.fenced {
			t.Errorf("%+v: error %v", step, err)
		}
		var present int
		if err := db.QueryRowContext(t.Context(), "SELECT present FROM "+a.table).Scan(&present); err != nil || present != step.want {
			t.Errorf("%+v: present %d (%v)", step, present, err)
		}
	}
}

func TestADatabaseInUseIsRefused(t *testing.T) {
	t.Parallel()
	app := func(name string) func(*testing.T, *store.Store) {
		return func(t *testing.T, s *store.Store) {
			t.Helper()
			a := proto.App{Name: name, Request: "r", Depends: map[string]string{"up": "hourly"}}
			if _, err := s.PutApp(t.Context(), store.AppPut{App: a, Source: proto.AppFromAPI, Since: time.Now()}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, use := range map[string]func(*testing.T, *store.Store){
		"an app": app("mine"), "an app of a test": app("torture-x-1"),
		"a member": func(t *testing.T, s *store.Store) {
			t.Helper()
			if _, _, _, err := s.MemberHeartbeat(t.Context(), proto.Member{ID: "n", Host: "h", Version: "v"}, time.Minute); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Defaults()
			o.Store.SQLitePath, o.Members = filepath.Join(t.TempDir(), "t.db"), 1
			db, err := database.Open(t.Context(), o.Store)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if err := db.Migrate(t.Context()); err != nil {
				t.Fatal(err)
			}
			use(t, store.New(db))
			if _, err := Run(t.Context(), o); !errors.Is(err, ErrInUse) {
				t.Errorf("got %v", err)
			}
		})
	}
}
