package store

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/internal/database/databasetest"
	"github.com/treadle-run/treadle/proto"
)

// listed is a request as the test knows it.
type listed struct {
	proto.Request
	args map[string]string
}

// fillList makes requests with all kinds of properties, a second apart by twos.
func (f *fixture) fillList(t *testing.T, rnd *rand.Rand, n int) []listed {
	t.Helper()
	states := proto.States()
	values := []any{"x", "X", "%", "_", "", strings.Repeat("long", 200), strings.Repeat("long", 200) + "er", int64(3), 3.0, true, nil, "a=b"}
	var ids []string
	var out []listed
	for i := range n {
		id := f.inState(t, proto.StatePending)
		nr := newRequest(newID())
		nr.Request.Type = []string{"deploy", "Deploy", "backup"}[rnd.IntN(3)]
		nr.Request.User = []string{"ann", "bob"}[rnd.IntN(2)]
		nr.ArgValues = proto.Values{"a": values[rnd.IntN(len(values))], "b": values[rnd.IntN(2)]}
		must(t, f.CreateRequests(t.Context(), []NewRequest{nr}))
		ids = append(ids, id, nr.Request.ID)
		out = append(out, listed{args: map[string]string{"a": proto.Text(nr.ArgValues["a"]), "b": proto.Text(nr.ArgValues["b"])}})
		out[i].ID = nr.Request.ID
		if i%2 == 1 {
			f.clock.Add(time.Second)
		}
		// Something that ran for a while.
		old := out[rnd.IntN(len(out))].ID
		if r := f.request(t, old); r.State == proto.StatePending {
			f.moveTo(t, old, states[rnd.IntN(len(states))])
		}
	}
	for _, id := range ids {
		if !slices.ContainsFunc(out, func(x listed) bool { return x.ID == id }) {
			out = append(out, listed{Request: proto.Request{ID: id}})
		}
	}
	for i := range out {
		out[i].Request = f.request(t, out[i].ID)
	}
	slices.SortFunc(out, func(a, b listed) int {
		return cmp.Or(b.CreatedAt.Compare(a.CreatedAt), cmp.Compare(a.ID, b.ID))
	})
	return out
}

func (f *fixture) moveTo(t *testing.T, id string, state proto.State) {
	t.Helper()
	if state == proto.StatePending {
		return
	}
	_, err := f.Dispatch(t.Context(), []Handover{{RequestID: id}}, "jr-1", "http://jr-1")
	must(t, err)
	switch state {
	case proto.StateRunning:
	case proto.StateSuspended:
		must(t, f.Suspend(t.Context(), id, 1, time.Time{}, []byte("{}"), false, ""))
	default:
		f.report(t, proto.ReportItem{RequestID: id, Epoch: 1, Final: state})
	}
}

// wantList is what a filter means.
func wantList(all []listed, f proto.RequestFilter) []string {
	var out []string
	for _, r := range all {
		if f.Type != "" && r.Type != f.Type || f.User != "" && r.User != f.User ||
			len(f.States) > 0 && !slices.Contains(f.States, r.State) ||
			!f.Until.IsZero() && !r.CreatedAt.Before(f.Until) ||
			!f.Since.IsZero() && r.FinishedAt != nil && !r.FinishedAt.After(f.Since) {
			continue
		}
		match := true
		for k, v := range f.Args {
			x, ok := r.args[k]
			match = match && ok && x == v
		}
		if match {
			out = append(out, r.ID)
		}
	}
	if f.Limit > 0 {
		out = out[min(int(f.Offset), len(out)):]
		out = out[:min(int(f.Limit), len(out))]
	}
	return out
}

func randomFilter(rnd *rand.Rand, all []listed) proto.RequestFilter {
	var f proto.RequestFilter
	r := all[rnd.IntN(len(all))]
	if rnd.IntN(4) == 0 {
		f.Type = r.Type
	}
	if rnd.IntN(4) == 0 {
		f.User = r.User
	}
	if rnd.IntN(3) == 0 {
		for range 1 + rnd.IntN(4) {
			f.States = append(f.States, proto.States()[rnd.IntN(6)])
		}
	}
	if rnd.IntN(3) == 0 {
		f.Args = map[string]string{}
		for k, v := range r.args {
			if rnd.IntN(3) > 0 {
				f.Args[k] = v
			}
		}
	}
	if rnd.IntN(3) == 0 {
		f.Since = all[rnd.IntN(len(all))].CreatedAt.Add(time.Duration(rnd.IntN(3)-1) * time.Microsecond)
	}
	if rnd.IntN(4) == 0 {
		f.Until = all[rnd.IntN(len(all))].CreatedAt.Add(time.Duration(rnd.IntN(2)) * time.Microsecond)
	}
	if rnd.IntN(4) > 0 {
		f.Limit, f.Offset = uint(1+rnd.IntN(20)), uint(rnd.IntN(4)*rnd.IntN(15))
	}
	return f
}

func TestFindRequestsMatchesWhatTheFilterMeans(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		seed := rand.Uint64()
		rnd := rand.New(rand.NewPCG(seed, 0))
		all := f.fillList(t, rnd, 60)
		for range 400 {
			filter := randomFilter(rnd, all)
			got, err := f.FindRequests(t.Context(), filter)
			must(t, err)
			var ids []string
			for _, r := range got {
				ids = append(ids, r.ID)
				if r.Args != nil || r.CreatedAt.IsZero() {
					t.Errorf("listed request %+v", r)
				}
			}
			if want := wantList(all, filter); !slices.Equal(ids, want) {
				t.Fatalf("seed %d, filter %+v:\ngot  %v\nwant %v", seed, filter, ids, want)
			}
		}
	})
}

func TestFindRequestsByArgsIsExact(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for _, v := range []any{"db-1", "db_1", "DB-1", "%", "db-1 ", "1", int64(1)} {
			n := newRequest(newID())
			n.ArgValues = proto.Values{"host": v}
			must(t, f.CreateRequests(t.Context(), []NewRequest{n}))
		}
		for v, want := range map[string]int{"db-1": 1, "db_1": 1, "DB-1": 1, "%": 1, "_": 0, "db-1 ": 1, "1": 2, "db%": 0} {
			got, err := f.FindRequests(t.Context(), proto.RequestFilter{Args: map[string]string{"host": v}})
			must(t, err)
			if len(got) != want {
				t.Errorf("host=%q: %d requests, want %d", v, len(got), want)
			}
		}
		got, err := f.FindRequests(t.Context(), proto.RequestFilter{Type: "deploy "})
		must(t, err)
		if len(got) != 0 {
			t.Errorf("a type that is not there: %d requests", len(got))
		}
	})
}

// TestListsAreReadByIndex holds that no list looks at all rows, and none sorts
// more than its page.
func TestListsAreReadByIndex(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	filters := map[string]proto.RequestFilter{
		"all":             {},
		"type":            {Type: "deploy"},
		"user":            {User: "ann"},
		"state":           {States: []proto.State{proto.StateComplete}},
		"states":          {States: []proto.State{proto.StateRunning, proto.StateFail}},
		"arg":             {Args: map[string]string{"a": "x"}},
		"args":            {Args: map[string]string{"a": "x", "b": "X"}},
		"since":           {Since: now},
		"until":           {Until: now},
		"arg, type":       {Args: map[string]string{"a": "x"}, Type: "deploy"},
		"user, type":      {User: "ann", Type: "deploy"},
		"type, state":     {Type: "deploy", States: []proto.State{proto.StateRunning}},
		"since, user":     {Since: now, User: "ann"},
		"since, args":     {Since: now, Args: map[string]string{"a": "x", "b": "X"}},
		"since and until": {Since: now, Until: now.Add(time.Hour)},
	}
	each(t, func(t *testing.T, f *fixture) {
		f.fillList(t, rand.New(rand.NewPCG(1, 2)), 40)
		for name, filter := range filters {
			filter.Limit = 50
			args, err := f.orderArgs(t.Context(), filter.Args)
			must(t, err)
			l := &list{s: f.Store, f: filter, args: args}
			queries := []*database.Query{l.pageQuery(l.branches(), 50, 50_000)}
			if !filter.Since.IsZero() {
				queries = []*database.Query{l.pageQuery(l.newer(), 50, 0), l.pageQuery(l.older(), 50, 0)}
			}
			for _, q := range queries {
				for _, bad := range f.badSteps(t, q) {
					t.Errorf("%s: %s\n%s", name, bad, q.SQL.String())
				}
			}
		}
	})
}

// badSteps returns the steps of a plan that look at a whole table.
func (f *fixture) badSteps(t *testing.T, q *database.Query) []string {
	t.Helper()
	if f.db.Dialect == &database.SQLiteDialect {
		return f.badSQLiteSteps(t, q)
	}
	return databasetest.BadSteps(t, f.db, q)
}

func (f *fixture) badSQLiteSteps(t *testing.T, q *database.Query) []string {
	t.Helper()
	rows, err := f.db.Writer.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+q.SQL.String(), q.Args...)
	must(t, err)
	defer rows.Close()
	var bad []string
	for rows.Next() {
		var id, parent, n int
		var detail string
		must(t, rows.Scan(&id, &parent, &n, &detail))
		table := strings.HasPrefix(detail, "SCAN r") || strings.HasPrefix(detail, "SCAN a")
		if table && !strings.Contains(detail, "USING COVERING INDEX requests_created") {
			bad = append(bad, detail)
		}
	}
	must(t, rows.Err())
	return bad
}
