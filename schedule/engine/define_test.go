package engine

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// checks is a check that knows no app without its upstream apps, and no cycle.
func checks(c *Config) {
	c.Check = func(app proto.App, others map[string]proto.App) error {
		for up := range app.Depends {
			if _, ok := others[up]; !ok {
				return proto.Errorf(proto.CodeInvalid, "no app %s", up)
			}
		}
		var cycle func(name string, left int) bool
		cycle = func(name string, left int) bool {
			for up := range others[name].Depends {
				if up == app.Name || left > 0 && cycle(up, left-1) {
					return true
				}
			}
			return false
		}
		for up := range app.Depends {
			if up == app.Name || cycle(up, len(others)) {
				return proto.Errorf(proto.CodeInvalid, "a cycle")
			}
		}
		return nil
	}
}

// together calls both at the same moment.
func together(a, b func() error) (errA, errB error) {
	var both sync.WaitGroup
	begin := make(chan struct{})
	both.Go(func() { <-begin; errA = a() })
	both.Go(func() { <-begin; errB = b() })
	close(begin)
	both.Wait()
	return errA, errB
}

// Changes over two members that are right by themselves and wrong together: one of them
// is refused, always.
func TestDefinitionsChangedAtOnce(t *testing.T) {
	t.Parallel()
	hourly := func(name string, up ...string) proto.App {
		a := proto.App{Name: name, Request: "x", Starts: "hourly"}
		if len(up) > 0 {
			a.Starts, a.Depends = "", map[string]string{up[0]: "hourly"}
		}
		return a
	}
	for _, tc := range []struct {
		name      string
		first     []proto.App
		a, b      func(w *world, e *Engine) error
		bothWrong func(apps map[string]proto.App) bool
	}{
		{"a cycle of two", []proto.App{hourly("a"), hourly("b")},
			func(w *world, e *Engine) error { _, err := e.PutApp(w.t.Context(), hourly("a", "b")); return err },
			func(w *world, e *Engine) error { _, err := e.PutApp(w.t.Context(), hourly("b", "a")); return err },
			func(apps map[string]proto.App) bool { return len(apps["a"].Depends)+len(apps["b"].Depends) > 1 }},
		{"a cycle of three", []proto.App{hourly("a"), hourly("b"), hourly("c", "b")},
			func(w *world, e *Engine) error { _, err := e.PutApp(w.t.Context(), hourly("a", "c")); return err },
			func(w *world, e *Engine) error { _, err := e.PutApp(w.t.Context(), hourly("b", "a")); return err },
			func(apps map[string]proto.App) bool { return len(apps["a"].Depends)+len(apps["b"].Depends) > 1 }},
		{"a dependent of one that is deleted", []proto.App{hourly("a")},
			func(w *world, e *Engine) error { return e.DeleteApp(w.t.Context(), "a") },
			func(w *world, e *Engine) error { _, err := e.PutApp(w.t.Context(), hourly("b", "a")); return err },
			func(apps map[string]proto.App) bool { return apps["a"].Name == "" && apps["b"].Name != "" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				m1, m2 := w.engine("m1", checks), w.engine("m2", checks)
				for round := range 15 {
					for _, app := range tc.first {
						w.put(m1, app)
					}
					errA, errB := together(func() error { return tc.a(w, m1) }, func() error { return tc.b(w, m2) })
					if (errA == nil) == (errB == nil) {
						w.t.Fatalf("round %d: %v and %v, want one of them to be refused", round, errA, errB)
					}
					rows, err := w.store.Apps(w.t.Context())
					must(w.t, err)
					apps := map[string]proto.App{}
					for _, row := range rows {
						apps[row.App.Name] = row.App
					}
					if tc.bothWrong(apps) {
						w.t.Fatalf("round %d: both went through: %v", round, apps)
					}
					for _, name := range []string{"c", "b", "a", "b", "c"} {
						_ = m1.DeleteApp(w.t.Context(), name) // those that are there
					}
				}
			})
		})
	}
}

// Many that are right go through, however many there are at once.
func TestManyDefinitionsAtOnce(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		members := []*Engine{w.engine("m1", checks), w.engine("m2", checks)}
		var all sync.WaitGroup
		errs := make([]error, 40)
		for i := range errs {
			all.Go(func() {
				_, errs[i] = members[i%2].PutApp(w.t.Context(), proto.App{Name: fmt.Sprintf("app%02d", i), Request: "x", Every: proto.Duration(time.Hour)})
			})
		}
		all.Wait()
		for i, err := range errs {
			if err != nil {
				w.t.Errorf("app%02d: %v", i, err)
			}
		}
	})
}
