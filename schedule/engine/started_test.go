package engine

import (
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// Of a period that has started, all upstream instances may be done when the app that
// depends on them comes: it runs all the same.
func TestPeriodThatIsDoneBeforeItsAppComes(t *testing.T) {
	t.Parallel()
	hourly := func(name string) proto.App { return proto.App{Name: name, Request: "x", Starts: "hourly"} }
	for name, tc := range map[string]struct {
		before, change func(w *world, e *Engine)
		want           []string
	}{
		"new": {func(*world, *Engine) {}, func(w *world, e *Engine) { w.put(e, dependent("down", "hourly", "up")) }, []string{"2000-01-01-0300"}},
		"new in the specs": {func(*world, *Engine) {}, func(w *world, _ *Engine) {
			must(w.t, w.engine("m2", specs(dependent("down", "hourly", "up"))).Sync(w.t.Context()))
		}, []string{"2000-01-01-0300"}},
		"revived": {func(w *world, e *Engine) {
			w.put(e, dependent("down", "hourly", "up"))
			must(w.t, e.DeleteApp(w.t.Context(), "down"))
		}, func(w *world, e *Engine) { w.put(e, dependent("down", "hourly", "up")) }, []string{"2000-01-01-0300"}},
		"another upstream": {func(w *world, e *Engine) { w.put(e, dependent("down", "hourly", "never")) },
			func(w *world, e *Engine) { w.put(e, dependent("down", "hourly", "up")) }, []string{"2000-01-01-0300"}},
		"another period": {func(w *world, e *Engine) { w.put(e, dependent("down", "yearly", "up")) },
			func(w *world, e *Engine) { w.put(e, dependent("down", "hourly", "up")) }, []string{"2000-01-01-0300"}},
		"by time before": {func(w *world, e *Engine) { w.put(e, proto.App{Name: "down", Request: "x", Starts: "yearly"}) },
			func(w *world, e *Engine) { w.put(e, dependent("down", "hourly", "up")) }, []string{"2000-01-01-0300"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				e := w.engine("m1")
				w.put(e, hourly("up"))
				w.put(e, proto.App{Name: "never", Request: "x", Cron: "0 0 29 2 *"})
				w.run(e)
				tc.before(w, e)
				at(hours(3.2))
				tc.change(w, e)
				after(40 * time.Minute)
				w.wantRan("down", tc.want...)
			})
		})
	}
}
