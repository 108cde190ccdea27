package audit_test

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "modernc.org/sqlite"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/test/torture"
	"github.com/treadle-run/treadle/test/torture/schedule/audit"
)

// row is an instance: a live one if it has not finished.
type row struct {
	app               string
	number            int
	state             int
	sequence          int
	start             int // of its period, in seconds
	started, finished int // in seconds; 0 is none
	recurring         bool
}

type fixture struct {
	t  *testing.T
	db *sql.DB
	a  *audit.Audit
	torture.Findings
}

func setup(t *testing.T, jobs ...audit.Job) *fixture {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.db")
	s, err := database.Open(t.Context(), database.Config{SQLitePath: path})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	f := &fixture{t: t, db: db}
	f.exec("CREATE TABLE made (app TEXT, number INT, token INT, present INT, PRIMARY KEY (app, number))")
	f.a = audit.New(audit.Config{DB: db, Prefix: "p-", Artifacts: "made", Jobs: jobs, TraceDir: t.TempDir(), Bound: time.Second, Found: &f.Findings})
	return f
}

func (f *fixture) exec(query string, args ...any) {
	f.t.Helper()
	if _, err := f.db.ExecContext(f.t.Context(), query, args...); err != nil {
		f.t.Fatalf("%s: %v", query, err)
	}
}

func (f *fixture) app(name string, last int) {
	f.t.Helper()
	f.exec(`INSERT INTO schedule_apps (name, definition, source, paused, recurring, generation, bucket, last_number, since, created_at, updated_at)
		VALUES (?, '{}', 'api', 0, 1, 1, 1, ?, 0, 0, 0)`, name, last)
}

func (f *fixture) instance(r row) {
	f.t.Helper()
	us := func(s int) any {
		if s == 0 {
			return nil
		}
		return s * 1_000_000
	}
	columns := "app, number, name, period_start, period_end, run, state, sequence_number, recurring, due_at, host, created_at, started_at, undo_tries, reason"
	values := []any{r.app, r.number, "x", r.start * 1_000_000, (r.start + 1) * 1_000_000, 0, r.state, r.sequence, r.recurring, 0, "", 0, us(r.started), 0, ""}
	table := "schedule_archive"
	if r.finished != 0 {
		columns, values = columns+", finished_at", append(values, us(r.finished))
	} else {
		table = "schedule_instances"
		columns, values = columns+", bucket, held", append(values, 1, 0)
	}
	f.exec(fmt.Sprintf("INSERT INTO %s (%s) VALUES (?%s)", table, columns, strings.Repeat(", ?", len(values)-1)), values...)
}

func (f *fixture) artifact(app string, number, present int) {
	f.t.Helper()
	f.exec("INSERT INTO made VALUES (?, ?, 1, ?)", app, number, present)
}

func (f *fixture) skipped(app string, from, to int) {
	f.t.Helper()
	f.exec("INSERT INTO schedule_events (app, kind, period_start, period_to, count, reason, at) VALUES (?, 'skipped', ?, ?, 1, '', 0)", app, from*1_000_000, to*1_000_000)
}

// well is a job of two successes, a failure and the next one, of 5 s each.
func (f *fixture) well() {
	f.t.Helper()
	f.app("p-1", 4)
	f.instance(row{"p-1", 1, 5, 9, 5, 5, 6, true})
	f.artifact("p-1", 1, 1)
	f.instance(row{"p-1", 2, 6, 9, 10, 10, 11, true})
	f.artifact("p-1", 2, 0)
	f.instance(row{"p-1", 3, 5, 9, 15, 15, 16, true})
	f.artifact("p-1", 3, 1)
	f.instance(row{"p-1", 4, 1, 1, 20, 0, 0, true})
}

var every5 = audit.Job{App: "p-1", Every: 5 * time.Second}

// Each thing that is wrong is found by its rule, and nothing is found in what is well.
func TestAuditFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	up := []audit.Job{every5, {App: "p-2", Upstream: []string{"p-1"}, Period: 5 * time.Second}}
	tests := []struct {
		name string
		jobs []audit.Job
		make func(f *fixture)
		want string // in a rule; "" for none
	}{
		{"all is well", nil, func(*fixture) {}, ""},
		{"artifact lost", nil, func(f *fixture) { f.exec("DELETE FROM made WHERE number = 1") }, "success without artifact"},
		{"artifact deleted", nil, func(f *fixture) { f.exec("UPDATE made SET present = 0") }, "success without artifact"},
		{"artifact of a failure", nil, func(f *fixture) { f.exec("UPDATE made SET present = 1") }, "failure with artifact"},
		{"artifact of nothing", nil, func(f *fixture) { f.artifact("p-1", 77, 1) }, "artifact without success"},
		{"artifact too early", nil, func(f *fixture) { f.artifact("p-1", 4, 1) }, "has not started"},
		{"hole", nil, func(f *fixture) { f.exec("UPDATE schedule_archive SET number = 9 WHERE number = 3") }, "hole in the numbers"},
		{"last number lost", nil, func(f *fixture) { f.exec("UPDATE schedule_apps SET last_number = 5") }, "hole in the numbers"},
		{"both live and archived", nil, func(f *fixture) { f.instance(row{"p-1", 3, 1, 1, 25, 0, 0, false}) }, "both live and archived"},
		{"period twice", nil, func(f *fixture) { f.instance(row{"p-1", 5, 6, 1, 15, 16, 17, true}) }, "a period has two instances"},
		{"period twice, live", nil, func(f *fixture) { f.instance(row{"p-1", 5, 2, 1, 15, 16, 0, true}) }, "one of them live"},
		{"not over", nil, func(f *fixture) { f.exec("UPDATE schedule_archive SET state = 2 WHERE number = 3") }, "archived and not over"},
		{"started early", nil, func(f *fixture) { f.exec("UPDATE schedule_archive SET due_at = started_at + 200000 WHERE number = 3") }, "started before it was due"},
		{"period lost", nil, func(f *fixture) { f.exec("UPDATE schedule_instances SET period_start = 25000000") }, "ledger"},
		{"period skipped", nil, func(f *fixture) {
			f.exec("UPDATE schedule_instances SET period_start = 30000000")
			f.skipped("p-1", 20, 25)
		}, ""},
		{"period ran and was skipped", nil, func(f *fixture) { f.skipped("p-1", 15, 15) }, "ledger"},
		{"side by side", nil, func(f *fixture) { f.exec("UPDATE schedule_archive SET finished_at = 14000000 WHERE number = 1") }, "overlap"},
		{"side by side allowed", []audit.Job{{App: "p-1", Every: 5 * time.Second, Allow: true}}, func(f *fixture) {
			f.exec("UPDATE schedule_archive SET finished_at = 14000000 WHERE number = 1")
		}, ""},
		{"dependents are there", up, func(f *fixture) {
			f.app("p-2", 2)
			f.instance(row{"p-2", 1, 5, 9, 5, 7, 8, false})
			f.artifact("p-2", 1, 1)
			f.instance(row{"p-2", 2, 5, 9, 15, 17, 18, false})
			f.artifact("p-2", 2, 1)
		}, ""},
		{"dependent lost", up, func(f *fixture) {
			f.app("p-2", 1)
			f.instance(row{"p-2", 1, 5, 9, 5, 7, 8, false})
			f.artifact("p-2", 1, 1)
		}, "dependents"},
		{"dependent of a failure", up, func(f *fixture) {
			f.app("p-2", 3)
			for n, start := range []int{5, 10, 15} {
				f.instance(row{"p-2", n + 1, 5, 9, start, start + 2, start + 3, false})
				f.artifact("p-2", n+1, 1)
			}
		}, "dependents"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.jobs == nil {
				tt.jobs = []audit.Job{every5}
			}
			f := setup(t, tt.jobs...)
			f.well()
			tt.make(f)
			if err := f.a.Final(t.Context()); err != nil {
				t.Fatal(err)
			}
			var rules []string
			for _, v := range f.All() {
				rules = append(rules, v.Rule)
			}
			if all := strings.Join(rules, ", "); (all == "") != (tt.want == "") || !strings.Contains(all, tt.want) {
				t.Errorf("found %q, want %q: %v", all, tt.want, f.All())
			}
		})
	}
}

// What changes from one look to the next is checked, too.
func TestAuditFindsIllegalMoves(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ change, want string }{
		{"UPDATE schedule_instances SET state = 2, sequence_number = 8 WHERE number = 2", ""},
		{"UPDATE schedule_instances SET state = 1, sequence_number = 8 WHERE number = 2", "state went from 2 to 1"},
		{"UPDATE schedule_instances SET sequence_number = 6 WHERE number = 2", "sequence went from 7 to 6"},
		{"UPDATE schedule_instances SET state = 3 WHERE number = 2", "the sequence stayed 7"},
		{"DELETE FROM schedule_instances WHERE number = 2", "is gone"},
		{"UPDATE schedule_archive SET state = 6 WHERE number = 1", "was archived in state 5"},
	} {
		f := setup(t, every5)
		f.app("p-1", 2)
		f.instance(row{"p-1", 1, 5, 9, 5, 5, 6, true})
		f.artifact("p-1", 1, 1)
		f.instance(row{"p-1", 2, 2, 7, 10, 10, 0, true})
		if err := f.a.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		if v := f.All(); len(v) > 0 {
			t.Fatalf("before: %v", v)
		}
		f.exec(tt.change)
		if err := f.a.Look(t.Context()); err != nil {
			t.Fatal(err)
		}
		found := ""
		for _, v := range f.All() {
			if v.Rule == "moves" {
				found += v.What
			}
		}
		if (found == "") != (tt.want == "") || !strings.Contains(found, tt.want) {
			t.Errorf("%s: found %q, want %q", tt.change, found, tt.want)
		}
	}
}
