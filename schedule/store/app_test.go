package store

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/proto"
)

func TestPutAppKnowsWhatHasChanged(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.put(t, hourly("a"))
		f.clock.Add(time.Minute)
		changed, err := f.PutApp(t.Context(), hourly("a"))
		must(t, err)
		if changed {
			t.Error("the same app again has changed")
		}
		p := hourly("a")
		p.Source = proto.AppFromSpecs
		if _, err := f.PutApp(t.Context(), p); !errors.Is(err, ErrSource) {
			t.Errorf("put from the specs over one of the API: %v", err)
		}
		// Its times stay: so does the instance that waits, and what is expected.
		p = hourly("a")
		p.App.Args = proto.Values{"n": 2}
		p.Since = hour(9)
		p.First = ptr(period("a", 5))
		f.put(t, p)
		app, err := f.App(t.Context(), "a")
		must(t, err)
		if in := f.newestOf(t, "a"); !in.PeriodStart.Equal(hour(0)) || !app.Since.Equal(hour(0)) {
			t.Errorf("with the same times the instance that waits is of %s, and periods are expected from %s on", in.PeriodStart, app.Since)
		}
		p.App.Args = proto.Values{"n": 1}
		p.App.Timezone = "Asia/Tokyo"
		p.First = ptr(period("a", 5))
		p.DeadlineStart, p.DeadlineAt = ptr(hour(5)), ptr(hour(6))
		f.put(t, p)
		app, err = f.App(t.Context(), "a")
		must(t, err)
		want := AppRow{App: p.App, Source: proto.AppFromAPI, Generation: 3, Since: hour(9), LastNumber: 1,
			DeadlineStart: p.DeadlineStart, DeadlineAt: p.DeadlineAt, CreatedAt: app.CreatedAt, UpdatedAt: app.CreatedAt.Add(time.Minute)}
		app.App.Args, want.App.Args = nil, nil // numbers come back as JSON has them
		if d := cmp.Diff(want, app); d != "" {
			t.Errorf("the app (-want, +got):\n%s", d)
		}
		in := f.newestOf(t, "a")
		if in.Number != 1 || in.Sequence != 2 || !in.PeriodStart.Equal(hour(5)) || !in.Due.Equal(hour(5)) {
			t.Errorf("the instance that waits was not moved in place: %+v", in)
		}
		f.wantNumbers(t, "a", 1)
	})
}

// TestNumbersHaveNoHole takes an app through what changes it.
func TestNumbersHaveNoHole(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		generation := 0
		change := func(first int) AppPut {
			generation++
			p := hourly("a")
			p.App.Jitter = proto.Seconds(time.Duration(generation) * time.Second)
			p.App.Args = proto.Values{"generation": fmt.Sprint(generation)}
			p.First = ptr(period("a", first))
			return p
		}
		f.put(t, change(0))
		f.run(t, "a", proto.InstanceSucceeded, 1)
		f.put(t, change(3))
		f.wantNumbers(t, "a", 2)
		// While one runs: it ends as it began, and makes the next one.
		in := f.claimed(t, "a", "m1")
		f.put(t, change(4))
		f.wantNumbers(t, "a", 2)
		err := f.FinishInstance(t.Context(), Finish{Spec: in.InstanceSpecifier, State: proto.InstanceSucceeded, Generation: 1, Next: ptr(period("a", 4))})
		if !errors.Is(err, ErrStaleApp) {
			t.Errorf("finished under the old definition: %v", err)
		}
		must(t, f.FinishInstance(t.Context(), Finish{Spec: in.InstanceSpecifier, State: proto.InstanceSucceeded, Generation: 3, Next: ptr(period("a", 4))}))
		f.wantNumbers(t, "a", 3)
		// To where an instance of a backfill is live: that one is the next one then.
		_, err = f.ExtraInstances(t.Context(), "a", []NewInstance{period("a", 7), period("a", 2)}, false)
		must(t, err)
		f.wantNumbers(t, "a", 5)
		f.put(t, change(7))
		f.wantNumbers(t, "a", 5)
		if n := f.count(t, "schedule_instances WHERE next_of = 'a' AND number = 4 AND recurring = 1"); n != 1 {
			t.Error("the instance of the backfill is not the next one")
		}
		// Gone, and back while nothing runs, and while one runs.
		must(t, f.DeleteApp(t.Context(), "a", proto.AppFromAPI, 0))
		f.wantNumbers(t, "a", 5)
		f.put(t, change(8))
		f.wantNumbers(t, "a", 6)
		in = f.claimed(t, "a", "m1")
		must(t, f.DeleteApp(t.Context(), "a", proto.AppFromAPI, 0))
		f.put(t, change(9))
		f.wantNumbers(t, "a", 6)
		must(t, f.FinishInstance(t.Context(), Finish{Spec: in.InstanceSpecifier, State: proto.InstanceFailed, Next: ptr(period("a", 9))}))
		f.wantNumbers(t, "a", 7)
		// To an app that depends on others, and back.
		p := change(0)
		p.App.Starts, p.App.Depends, p.First = "", map[string]string{"b": "hourly"}, nil
		f.put(t, p)
		f.wantNumbers(t, "a", 7)
		if n := f.count(t, "schedule_instances WHERE app = 'a'"); n != 0 {
			t.Errorf("%d instances wait of an app that depends on others", n)
		}
		f.put(t, change(12))
		f.wantNumbers(t, "a", 8)
		if d := cmp.Diff(map[string]string{}, f.dependents(t, "b")); d != "" {
			t.Errorf("dependents of b: %s", d)
		}
	})
}

func (f *fixture) dependents(t *testing.T, upstream string) map[string]string {
	t.Helper()
	m, err := f.Dependents(t.Context(), upstream)
	must(t, err)
	return m
}

func TestDeletedApp(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		p := hourly("a")
		p.DeadlineStart, p.DeadlineAt = ptr(hour(-1)), ptr(hour(-1))
		f.put(t, p)
		must(t, f.AddSignals(t.Context(), []Signal{{App: "a", PeriodStart: hour(0)}}))
		if err := f.DeleteApp(t.Context(), "a", proto.AppFromSpecs, 0); !errors.Is(err, ErrSource) {
			t.Errorf("deleted from the specs: %v", err)
		}
		must(t, f.DeleteApp(t.Context(), "a", proto.AppFromAPI, 0))
		for name, err := range map[string]error{
			"app":    errOf(f.App(t.Context(), "a")),
			"delete": f.DeleteApp(t.Context(), "a", proto.AppFromAPI, 0),
			"pause":  f.PauseApp(t.Context(), "a", true),
			"extra":  errOf(f.ExtraInstances(t.Context(), "a", []NewInstance{period("a", 0)}, true)),
			"none":   f.DeleteApp(t.Context(), "x", proto.AppFromAPI, 0),
		} {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("%s: %v, want ErrNotFound", name, err)
			}
		}
		apps, err := f.Apps(t.Context())
		must(t, err)
		late, err := f.DeadlineApps(t.Context(), 10)
		must(t, err)
		signals, err := f.Signals(t.Context(), 10)
		must(t, err)
		if len(apps)+len(late)+len(signals) != 0 {
			t.Errorf("there are %v, %v, %v", apps, late, signals)
		}
		last, err := f.LastInstance(t.Context(), "a")
		must(t, err)
		if last.State != proto.InstanceFailed || last.StartedAt != nil || last.Reason == "" {
			t.Errorf("the instance that waited: %+v", last)
		}
	})
}

func errOf[T any](_ T, err error) error { return err }

func TestPausedApp(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.put(t, hourly("a"))
		f.toHour(0)
		spec := f.newestOf(t, "a").InstanceSpecifier
		must(t, f.PauseApp(t.Context(), "a", true))
		if due := f.due(t); len(due) != 0 {
			t.Errorf("due while paused: %v", due)
		}
		if _, err := f.ClaimInstance(t.Context(), Claim{Spec: spec, Member: "m1"}); !errors.Is(err, ErrNotUpdated) {
			t.Errorf("claimed by who fetched it before: %v", err)
		}
		p := hourly("a")
		p.App.Host, p.First = "h", ptr(period("a", -1))
		f.put(t, p)
		_, err := f.ExtraInstances(t.Context(), "a", []NewInstance{period("a", -2)}, false)
		must(t, err)
		if due := f.due(t); len(due) != 0 {
			t.Errorf("due while paused, after a change and a backfill: %v", due)
		}
		must(t, f.PauseApp(t.Context(), "a", false))
		if due := f.due(t); len(due) != 2 {
			t.Errorf("due when it goes on: %v", due)
		}
	})
}

func TestPutManyApps(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		puts := make([]AppPut, 0, 700)
		for i := range cap(puts) {
			p := hourly(fmt.Sprintf("app-%03d", i))
			if i%10 == 9 {
				p.App.Starts, p.First = "", nil
				p.App.Depends = map[string]string{"app-000": "hourly", "app-001": "hourly"}
			}
			puts = append(puts, p)
		}
		f.put(t, puts[3])
		must(t, f.DeleteApp(t.Context(), puts[3].App.Name, proto.AppFromAPI, 0))
		elsewhere := puts[5]
		elsewhere.Source = proto.AppFromSpecs
		f.put(t, elsewhere)
		n, err := f.PutApps(t.Context(), puts)
		if !errors.Is(err, ErrSource) || n != len(puts)-1 {
			t.Errorf("%d stored, %v", n, err)
		}
		n, err = f.PutApps(t.Context(), puts)
		if !errors.Is(err, ErrSource) || n != 0 {
			t.Errorf("again: %d stored, %v", n, err)
		}
		apps, err := f.Apps(t.Context())
		must(t, err)
		page, err := f.AppsAfter(t.Context(), "app-697", 10)
		must(t, err)
		if len(apps) != len(puts) || len(page) != 2 || page[0].App.Name != "app-698" {
			t.Errorf("%d apps; after 697: %v", len(apps), page)
		}
		if n := len(f.dependents(t, "app-001")); n != 70 {
			t.Errorf("%d dependents, want 70", n)
		}
		if n := f.count(t, "schedule_instances WHERE next_of = app"); n != 630 {
			t.Errorf("%d instances wait, want 630", n)
		}
		f.wantNumbers(t, "app-003", 2)
		f.wantNumbers(t, "app-004", 1)
		f.wantNumbers(t, "app-009", 0)
		without, err := f.AppsWithoutNext(t.Context(), 10)
		must(t, err)
		if len(without) != 0 {
			t.Errorf("without a next instance: %v", without)
		}
		f.run(t, "app-004", proto.InstanceSucceeded, -1)
		if without, err = f.AppsWithoutNext(t.Context(), 10); err != nil || len(without) != 1 {
			t.Errorf("without a next instance: %v, %v", without, err)
		}
	})
}

func TestDeadlines(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		p := hourly("a")
		p.DeadlineStart, p.DeadlineAt = ptr(hour(0)), ptr(hour(1))
		f.put(t, p)
		f.toHour(1)
		late, err := f.DeadlineApps(t.Context(), 10)
		must(t, err)
		if len(late) != 1 || !late[0].DeadlineStart.Equal(hour(0)) {
			t.Fatalf("late: %+v", late)
		}
		event := &AppEvent{App: "a", Kind: proto.AppLate, PeriodStart: hour(0)}
		must(t, f.MoveDeadline(t.Context(), "a", hour(0), ptr(hour(1)), ptr(hour(2)), event))
		if err := f.MoveDeadline(t.Context(), "a", hour(0), ptr(hour(1)), ptr(hour(2)), event); !errors.Is(err, ErrNotUpdated) {
			t.Errorf("moved twice: %v", err)
		}
		events, err := f.Events(t.Context(), "a", 0, 10)
		must(t, err)
		if len(events) != 1 || events[0].Kind != proto.AppLate || !events[0].At.Equal(hour(1)) || events[0].Count != 1 {
			t.Errorf("events: %+v", events)
		}
		must(t, f.MoveDeadline(t.Context(), "a", hour(1), nil, nil, nil))
		f.toHour(9)
		if late, err = f.DeadlineApps(t.Context(), 10); err != nil || len(late) != 0 {
			t.Errorf("late: %+v, %v", late, err)
		}
	})
}

// An instance that ends while an app comes that depends on its own does not miss that.
func TestEndSeesWhoCameToDependOnIt(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for name, put := range map[string]func(AppPut) error{
			"by one": func(p AppPut) error { _, err := f.PutApp(t.Context(), p); return err },
			"many":   func(p AppPut) error { _, err := f.PutApps(t.Context(), []AppPut{p}); return err },
		} {
			up := strings.ReplaceAll("up "+name, " ", "-")
			f.put(t, hourly(up))
			in := f.claimed(t, up, "m1")
			must(t, put(AppPut{App: proto.App{Name: "down-of-" + up, Request: "x", Depends: map[string]string{up: "hourly"}},
				Source: proto.AppFromAPI, Since: hour(0)}))
			err := f.FinishInstance(t.Context(), Finish{Spec: in.InstanceSpecifier, State: proto.InstanceSucceeded, Generation: 1})
			if !errors.Is(err, ErrStaleApp) {
				t.Errorf("%s: it ended with what it knew before: %v", name, err)
			}
		}
	})
}
