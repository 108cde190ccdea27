package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/proto"
)

// dependent is an app whose hour is complete when its upstream apps have run.
func dependent(app string, upstream ...string) AppPut {
	p := AppPut{App: proto.App{Name: app, Request: "count", Depends: map[string]string{}}, Source: proto.AppFromAPI, Since: hour(0)}
	for _, u := range upstream {
		p.App.Depends[u] = "hourly"
	}
	return p
}

func (f *fixture) signal(t *testing.T) Signal {
	t.Helper()
	list, err := f.Signals(t.Context(), 10)
	must(t, err)
	if len(list) != 1 {
		t.Fatalf("signals: %v", list)
	}
	return list[0]
}

func TestASignalIsNotLost(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.put(t, hourly("a"))
		f.put(t, hourly("b"))
		f.put(t, dependent("c", "a", "b"))
		if d := cmp.Diff(map[string]string{"c": "hourly"}, f.dependents(t, "a")); d != "" {
			t.Errorf("dependents of a: %s", d)
		}
		f.run(t, "a", proto.InstanceSucceeded, 1, Signal{App: "c", PeriodStart: hour(0)})
		first := f.signal(t)
		// b ends while somebody finds that it has not.
		f.run(t, "b", proto.InstanceSucceeded, 1, Signal{App: "c", PeriodStart: hour(0)})
		made, err := f.SettleSignal(t.Context(), first, nil)
		must(t, err)
		second := f.signal(t)
		if made || second.Count == first.Count {
			t.Errorf("settled: made %v, then %v, was %v", made, second, first)
		}
		n := period("c", 0)
		n.Conf = []byte(`{"a":{"n":1}}`)
		for i, want := range []bool{true, false} { // the second time: somebody who was slow
			if made, err = f.SettleSignal(t.Context(), second, &n); err != nil || made != want {
				t.Errorf("settled %d: made %v, %v", i, made, err)
			}
		}
		if list, err := f.Signals(t.Context(), 10); err != nil || len(list) != 0 {
			t.Errorf("signals: %v, %v", list, err)
		}
		in := f.newestOf(t, "c")
		if string(in.Conf) != `{"a":{"n":1}}` || in.Recurring {
			t.Errorf("made: %+v", in)
		}
		f.run(t, "c", proto.InstanceFailed, -1)
		// A re-run of an upstream app starts nothing that has run.
		must(t, f.AddSignals(t.Context(), []Signal{{App: "c", PeriodStart: hour(0)}}))
		if made, err = f.SettleSignal(t.Context(), f.signal(t), &n); err != nil || made {
			t.Errorf("settled after it has run: made %v, %v", made, err)
		}
		f.wantNumbers(t, "c", 1)
	})
}

// TestASettledSignalThatIsGivenAgain is another one, for who evaluates the first.
func TestASettledSignalThatIsGivenAgain(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		again := []Signal{{App: "c", PeriodStart: hour(0)}, {App: "c", PeriodStart: hour(0)}}
		must(t, f.AddSignals(t.Context(), again))
		slow := f.signal(t)
		_, err := f.SettleSignal(t.Context(), slow, nil)
		must(t, err)
		must(t, f.AddSignals(t.Context(), again))
		_, err = f.SettleSignal(t.Context(), slow, nil)
		must(t, err)
		f.signal(t) // is still there
	})
}

func TestASignalForAnAppThatIsGone(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		must(t, f.AddSignals(t.Context(), []Signal{{App: "c", PeriodStart: hour(0)}}))
		made, err := f.SettleSignal(t.Context(), f.signal(t), ptr(period("c", 0)))
		must(t, err)
		if n := f.count(t, "schedule_instances") + f.count(t, "schedule_signals"); made || n != 0 {
			t.Errorf("made %v, %d rows", made, n)
		}
	})
}

func TestBackfillAndRunAgain(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.put(t, hourly("a"))
		f.run(t, "a", proto.InstanceSucceeded, 1)
		f.run(t, "a", proto.InstanceFailed, 2)
		list := []NewInstance{period("a", -1), period("a", 0), period("a", 1), period("a", 2)}
		want := func(again bool, made ...bool) {
			t.Helper()
			got, err := f.ExtraInstances(t.Context(), "a", list, again)
			must(t, err)
			for i, r := range got {
				if r.Made != made[i] || (r.Why == "") != r.Made || r.Name != list[i].Name {
					t.Errorf("again %v, period %d: %+v, want made %v", again, i, r, made[i])
				}
			}
		}
		want(false, true, false, true, false) // one never ran, one SUCCEEDED, one FAILED, one waits
		want(false, false, false, false, false)
		want(true, false, true, false, false)
		f.wantNumbers(t, "a", 6)
		ins, err := f.PeriodInstances(t.Context(), "a", hour(-1), hour(2), 10)
		must(t, err)
		var got []string
		for _, in := range ins {
			got = append(got, in.PeriodStart.Format("15")+" "+in.State.String()+" run "+string(rune('0'+in.Run)))
		}
		if d := cmp.Diff([]string{"05 QUEUED run 0", "06 SUCCEEDED run 0", "06 QUEUED run 1", "07 FAILED run 0", "07 QUEUED run 1"}, got); d != "" {
			t.Errorf("periods (-want, +got):\n%s", d)
		}
	})
}
