package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/proto"
)

// The list of apps says how many instances run, on each of its pages, as each app does.
func TestAppsSayWhatRuns(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		e := w.engine("m1")
		for _, name := range []string{"a", "b", "c", "undone"} {
			w.put(e, proto.App{Name: name, Request: "x", Starts: "hourly", Undo: "y"})
		}
		unfinished := func(proto.Instance) (Outcome, error) { return Outcome{}, nil }
		w.do("a", unfinished)
		w.do("c", unfinished)
		w.do("undone", func(proto.Instance) (Outcome, error) { return Outcome{Done: true, Reason: "it failed"}, nil })
		w.undoes("undone", unfinished)
		w.run(e)
		at(hours(1.5))
		want := map[string]int{"a": 1, "b": 0, "c": 1, "undone": 1}
		for _, page := range []int{1, 2, 100} {
			got, after := map[string]int{}, ""
			for {
				list, err := e.Apps(w.t.Context(), after, page)
				must(w.t, err)
				for _, a := range list {
					got[a.Name] = a.Running
					after = a.Name
				}
				if len(list) < page {
					break
				}
			}
			if d := cmp.Diff(want, got); d != "" {
				w.t.Errorf("pages of %d (-want +got):\n%s", page, d)
			}
		}
		for name, n := range want {
			a, err := e.App(w.t.Context(), name)
			must(w.t, err)
			if a.Running != n {
				w.t.Errorf("app %s: %d running, want %d", name, a.Running, n)
			}
		}
	})
}
