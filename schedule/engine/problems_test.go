package engine

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/proto"
)

// Apps that new specs leave in trouble are shown by all that shows apps, and logged.
func TestWhatSpecsDoToAppsOfTheAPI(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		hourly := func(name string) proto.App { return proto.App{Name: name, Request: "x", Starts: "hourly"} }
		old := w.engine("m1", specs(hourly("feed"), hourly("other"), hourly("stays")))
		must(w.t, old.Sync(w.t.Context()))
		w.put(old, proto.App{Name: "one", Request: "x", Depends: map[string]string{"feed": "hourly", "stays": "hourly"}})
		w.put(old, proto.App{Name: "two", Request: "x", Depends: map[string]string{"feed": "daily", "other": "daily"}})
		w.put(old, proto.App{Name: "fine", Request: "x", Depends: map[string]string{"stays": "hourly"}})
		w.put(old, hourly("taken"))

		var log bytes.Buffer
		e := w.engine("m2", specs(hourly("stays"), hourly("taken")), func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&log, nil)) })
		must(w.t, e.Sync(w.t.Context()))
		want := map[string]string{
			"one": "upstream app feed does not exist", "two": "upstream apps do not exist: feed, other", "fine": "", "stays": "",
			"taken": "the specs declare an app of this name, too, which is left out: delete this one, or rename that",
		}
		list, err := e.Apps(w.t.Context(), "", 0)
		must(w.t, err)
		got := map[string]string{}
		for _, a := range list {
			got[a.Name] = a.Problem
			one, err := e.App(w.t.Context(), a.Name)
			must(w.t, err)
			if one.Problem != a.Problem {
				w.t.Errorf("%s alone has the problem %q, in the list %q", a.Name, one.Problem, a.Problem)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.t.Errorf("problems (-want +got):\n%s", diff)
		}
		for name, problem := range want {
			line := "level=WARN msg=\"an app has a problem\" app=" + name + " problem=\"" + problem
			if said := strings.Contains(log.String(), line); said != (problem != "") {
				w.t.Errorf("%s: it is said: %v\n%s", name, said, log.String())
			}
		}
	})
}
