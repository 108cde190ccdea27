package audit

import (
	"database/sql"
	"maps"
	"slices"
	"testing"

	"github.com/treadle-run/treadle/test/torture"
)

const second = int64(1e9)

// lived is a request of type line that ended well: five jobs, a second each.
func lived() *request {
	r := &request{
		id: "r", kind: "line", tag: "k", state: stateComplete, epoch: 1, total: 5, done: 5,
		finished: sql.NullInt64{Int64: 100 * second / 1000, Valid: true},
	}
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		id := tryID{job: name + "-1", try: 1, epoch: 1}
		at := int64(10+2*i) * second
		r.trace = append(r.trace, line{what: 'B', at: at, try: id, text: "-"}, line{what: 'E', at: at + second, try: id, text: "0"})
		r.log = append(r.log, entry{seq: uint64(i), id: id, name: name, state: stateComplete, started: at, finished: at + second})
	}
	return r
}

func TestCheckerFindsWhatMayNotBe(t *testing.T) {
	t.Parallel()
	b := tryID{job: "b-1", try: 1, epoch: 1}
	again := tryID{job: "b-1", try: 1, epoch: 2}
	for name, c := range map[string]struct {
		change func(r *request)
		rules  []string
	}{
		"all is well": {func(*request) {}, nil},
		"a killed try before the good one": {func(r *request) {
			r.epoch = 2
			early := line{what: 'B', at: 11*second + second/2, try: b, text: "-"}
			for i := range r.log[1:] {
				r.log[i+1].id.epoch = 2
			}
			for i := range r.trace[2:] {
				r.trace[i+2].try.epoch = 2
			}
			r.trace = slices.Insert(r.trace, 2, early)
		}, nil},
		"a stop was forgotten": {func(r *request) { r.stopAsked = true }, []string{"a stop is for good"}},
		"it ran again": {func(r *request) {
			r.trace = append(r.trace, line{what: 'B', at: 50 * second, try: again, text: "-"})
		}, []string{"what is COMPLETE does not run again"}},
		"it began twice": {func(r *request) {
			r.trace = append(r.trace, line{what: 'B', at: 12 * second, try: b, text: "-"})
		}, []string{"a try begins once"}},
		"two at a time": {func(r *request) {
			r.trace = slices.Insert(r.trace, 3, line{what: 'B', at: 12*second + 1, try: again, text: "-"})
		}, []string{"no two tries at a time"}},
		"beside one that was killed": {func(r *request) { r.trace[2].text = "beside:try/1" }, []string{"no two tries at a time"}},
		"it ran after the end": {func(r *request) {
			r.finished.Int64 = 18 * second / 1000
		}, []string{"nothing runs after the end"}},
		"too early":    {func(r *request) { r.trace[1], r.trace[2] = r.trace[2], r.trace[1] }, []string{"jobs run in order"}},
		"it never ran": {func(r *request) { r.trace = slices.Delete(r.trace, 8, 10) }, []string{"what is COMPLETE has run"}},
		"it failed and is COMPLETE": {func(r *request) {
			r.trace[9].text = "1"
		}, []string{"what is COMPLETE has run"}},
		"the count is wrong": {func(r *request) { r.done = 4 }, []string{"a COMPLETE request is complete", "finished counts equal the log"}},
		"a gap in the log":   {func(r *request) { r.log[4].seq = 5 }, []string{"the log has no gaps"}},
		"an old epoch": {func(r *request) {
			r.epoch = 2
			r.log[1].id.epoch, r.trace[2].try.epoch, r.trace[3].try.epoch = 2, 2, 2
		}, []string{"epochs only grow"}},
		"job data is lost": {func(r *request) {
			r.trace = append(r.trace, line{what: 'D', at: 12 * second, try: b, text: "token:"})
		}, []string{"job data arrives"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := lived()
			c.change(r)
			var all torture.Findings
			New(nil, "", nil, Asked{}, &all).checkRequest(r)
			found := map[string]bool{}
			for _, v := range all.All() {
				found[v.Rule] = true
			}
			if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, c.rules) {
				t.Errorf("found %q, want %q", got, c.rules)
			}
		})
	}
}

func TestCheckerComparesWithWhatClientsWereTold(t *testing.T) {
	t.Parallel()
	made := func(change func(w *Work)) Work {
		w := Work{Key: "k", Kind: "line", IDs: []string{"r"}}
		change(&w)
		return w
	}
	for name, c := range map[string]struct {
		work Work
		has  func(r *request)
		rule string
	}{
		"as it was told":        {made(func(*Work) {}), func(*request) {}, ""},
		"lost":                  {made(func(w *Work) { w.IDs = []string{"x"} }), func(*request) {}, "accepted requests are not lost"},
		"accepted twice":        {made(func(w *Work) { w.IDs = append(w.IDs, "x") }), func(*request) {}, "one request for one key"},
		"nobody asked":          {made(func(w *Work) { w.Key, w.IDs = "other", nil }), func(*request) {}, "one request for one key"},
		"it has not ended":      {made(func(*Work) {}), func(r *request) { r.state = 2 }, "every accepted request ends"},
		"it failed":             {made(func(*Work) {}), func(r *request) { r.state = stateFail }, "outcome"},
		"stopped by nobody":     {made(func(*Work) {}), func(r *request) { r.state = stateStopped }, "outcome"},
		"stopped":               {made(func(w *Work) { w.Asked, w.Stopped = true, true }), func(r *request) { r.state = stateStopped }, ""},
		"a stop that was taken": {made(func(w *Work) { w.Asked, w.Stopped = true, true }), func(*request) {}, "outcome"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := lived()
			c.has(r)
			var all torture.Findings
			a := New(nil, "", nil, Asked{Works: []Work{c.work}}, &all)
			a.requests = map[string]*request{"r": r}
			a.checkWorks()
			found := false
			for _, v := range all.All() {
				found = found || v.Rule == c.rule
			}
			if found != (c.rule != "") || c.rule == "" && len(all.All()) > 0 {
				t.Errorf("found %+v, want %q", all.All(), c.rule)
			}
		})
	}
}
