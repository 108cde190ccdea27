package engine

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/plan"
)

// ledgerOf returns the lines of the ledger of an app: when, state, reason.
func (w *world) ledgerOf(e *Engine, app string, since, until time.Time, limit int) []string {
	w.t.Helper()
	list, err := e.Periods(w.t.Context(), app, since, until, limit)
	must(w.t, err)
	var out []string
	for _, p := range list {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", strings.TrimSuffix(p.Name, "-"+app), p.State, p.Reason)))
	}
	return out
}

func wantLines(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n  %s\nwant\n  %s", what, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func (w *world) runPeriods(e *Engine, app string, r proto.RunPeriods) {
	w.t.Helper()
	answer, err := e.RunPeriods(w.t.Context(), app, r)
	must(w.t, err)
	for _, p := range answer.Periods {
		if !p.Made {
			w.t.Fatalf("%s does not run: %s", p.Name, p.Why)
		}
	}
	after(time.Minute)
}

// What ran has a line, whenever it was: before the app was made, or by other times
// than those of now.
func TestLedgerShowsAllThatRan(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		app := proto.App{Name: "a", Request: "x", Every: proto.Duration(time.Hour)}
		e := w.engine("m1")
		w.run(e)
		w.put(e, app)
		at(hours(2.5))
		w.runPeriods(e, "a", proto.RunPeriods{Period: "1999-12-30T05:00:00Z"})
		w.runPeriods(e, "a", proto.RunPeriods{Period: "1999-12-31T20:00:00Z"})
		none := time.Time{}
		all := []string{
			"2000-01-01-0300 expected", "2000-01-01-0200 succeeded", "2000-01-01-0100 succeeded",
			"1999-12-31-2000 succeeded", "1999-12-30-0500 succeeded",
		}
		wantLines(w.t, "all", w.ledgerOf(e, "a", none, none, 0), all...)
		for n := 1; n < len(all); n++ {
			wantLines(w.t, fmt.Sprintf("the newest %d", n), w.ledgerOf(e, "a", none, none, n), all[:n]...)
		}
		wantLines(w.t, "a range before it was there", w.ledgerOf(e, "a", epoch.AddDate(0, 0, -2), epoch.AddDate(0, 0, -1), 1), all[4])
		wantLines(w.t, "up to a start", w.ledgerOf(e, "a", none, epoch.Add(hours(1)), 0), all[3:]...)
		wantLines(w.t, "from a start on", w.ledgerOf(e, "a", epoch.Add(hours(2)), none, 0), all[:2]...)
		wantLines(w.t, "where nothing was", w.ledgerOf(e, "a", epoch.AddDate(-1, 0, 0), epoch.AddDate(0, -1, 0), 0))

		list, err := e.Periods(w.t.Context(), "a", none, epoch, 0)
		must(w.t, err)
		for _, p := range list {
			if p.Number == 0 || p.StartedAt == nil || !p.End.Equal(p.Start.Add(time.Hour)) || p.Late {
				w.t.Errorf("line %+v", p)
			}
		}

		app.Every, app.Cron = 0, "30 * * * *"
		w.put(e, app)
		at(hours(4.75))
		got := w.ledgerOf(e, "a", none, none, 0)
		for _, name := range append([]string{"2000-01-01-0430 succeeded", "2000-01-01-0330 succeeded"}, all[1:]...) {
			if n := count(got, name); n != 1 {
				w.t.Errorf("with new times %s is there %d times:\n  %s", name, n, strings.Join(got, "\n  "))
			}
		}
		if n := len(w.ledgerOf(e, "a", none, none, 3)); n != 3 {
			w.t.Errorf("the newest 3 are %d", n)
		}
	})
}

// The last run decides how a period stands, and any that SUCCEEDED that it blocks nothing.
func TestLedgerOfRunsOfOnePeriod(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		e := w.engine("m1", specs(
			proto.App{Name: "a", Request: "x", Starts: "hourly"},
			proto.App{Name: "down", Request: "x", Depends: map[string]string{"a": "hourly"}},
		))
		w.run(e)
		at(hours(1.5))
		w.do("a", fails)
		for _, period := range []string{"2000-01-01T01:00:00Z", "1999-12-31T00:00:00Z"} {
			w.runPeriods(e, "a", proto.RunPeriods{Period: period, Again: true})
		}
		list, err := e.Periods(w.t.Context(), "a", time.Time{}, epoch.Add(hours(2)), 0)
		must(w.t, err)
		for _, p := range list {
			if p.State != proto.PeriodFailed || p.Reason != "no luck" || len(p.Blocks) > 0 {
				w.t.Errorf("line %+v", p)
			}
		}
		if len(list) != 2 || list[0].Run != 1 || list[1].Run != 0 {
			w.t.Errorf("%d lines: %+v", len(list), list)
		}
	})
}

func count(list []string, x string) (n int) {
	for _, y := range list {
		if x == y {
			n++
		}
	}
	return n
}

// A period that is due and does not run says what it waits for, and what depends on
// it is told the same.
func TestWhatIsDueSaysWhyItDoesNotRun(t *testing.T) {
	t.Parallel()
	hourly := proto.App{Name: "a", Request: "x", Every: proto.Duration(time.Hour)}
	none := time.Time{}
	for name, tc := range map[string]struct {
		change  func(*proto.App)
		prepare func(w *world, e *Engine) // at the start
		at      float64
		late    func(w *world, e *Engine) // at that time
		want    []string
		blocked string // why the newest period of `down` is blocked
	}{
		"queued behind one that runs": {
			change:  func(a *proto.App) { a.Overlap = plan.OverlapQueue },
			prepare: func(w *world, _ *Engine) { w.do("a", lasts(hours(5))) },
			at:      3.5,
			want: []string{
				"2000-01-01-0400 expected",
				"2000-01-01-0300 expected waits for 2000-01-01-0100-a (RUNNING: not yet)",
				"2000-01-01-0200 expected waits for 2000-01-01-0100-a (RUNNING: not yet)",
				"2000-01-01-0100 running not yet",
			},
			blocked: "waits for 2000-01-01-0100-a (RUNNING: not yet)",
		},
		"skipped as soon as another one ends": {
			change:  func(a *proto.App) { a.Overlap = plan.OverlapSkip },
			prepare: func(w *world, _ *Engine) { w.do("a", lasts(hours(5))) },
			at:      2.5,
			want: []string{
				"2000-01-01-0300 expected",
				"2000-01-01-0200 expected waits for 2000-01-01-0100-a (RUNNING: not yet), and will be skipped when that ends",
				"2000-01-01-0100 running not yet",
			},
			blocked: "waits for 2000-01-01-0100-a (RUNNING: not yet), and will be skipped when that ends",
		},
		"queued behind a backfill": {
			change: func(a *proto.App) { a.Overlap = plan.OverlapQueue },
			prepare: func(w *world, e *Engine) {
				w.do("a", lasts(hours(5)))
				w.runPeriods(e, "a", proto.RunPeriods{Period: "1999-12-31T00:00:00Z"})
			},
			at: 2.5,
			want: []string{
				"2000-01-01-0300 expected",
				"2000-01-01-0200 expected waits for 2000-01-01-0100-a (QUEUED: waits for 1999-12-31-0000-a (RUNNING: not yet))",
				"2000-01-01-0100 queued waits for 1999-12-31-0000-a (RUNNING: not yet)",
				"1999-12-31-0000 running not yet",
			},
			blocked: "waits for 2000-01-01-0100-a (QUEUED: waits for 1999-12-31-0000-a (RUNNING: not yet))",
		},
		"behind an undo that fails": {
			change: func(a *proto.App) { a.Overlap, a.Undo = plan.OverlapQueue, "y" },
			prepare: func(w *world, _ *Engine) {
				w.do("a", fails)
				w.undoes("a", func(proto.Instance) (Outcome, error) { return Outcome{Done: true, Reason: "stuck"}, nil })
			},
			at: 2.5,
			want: []string{
				"2000-01-01-0300 expected",
				"2000-01-01-0200 expected waits for 2000-01-01-0100-a (TO_UNDO: no luck; the undo failed # times, last: stuck; the next try is at #)",
				"2000-01-01-0100 undoing no luck; the undo failed # times, last: stuck; the next try is at #",
			},
			blocked: "waits for 2000-01-01-0100-a (TO_UNDO: no luck; the undo failed # times, last: stuck; the next try is at #)",
		},
		"paused": {
			at: 1.5,
			prepare: func(w *world, e *Engine) {
				at(hours(0.5))
				must(w.t, e.PauseApp(w.t.Context(), "a", true))
			},
			late: func(*world, *Engine) { at(hours(2.5)) },
			want: []string{
				"2000-01-01-0300 expected the app is paused",
				"2000-01-01-0200 expected the app is paused",
				"2000-01-01-0100 queued the app is paused",
			},
			blocked: "the app is paused",
		},
		"host is down": {
			change:  func(a *proto.App) { a.Host = "h" },
			prepare: func(w *world, _ *Engine) { w.setDown("h", true) },
			at:      1.5,
			want:    []string{"2000-01-01-0200 expected", "2000-01-01-0100 queued waits for h"},
			blocked: "QUEUED: waits for h",
		},
		"failed": {
			prepare: func(w *world, _ *Engine) { w.do("a", fails) },
			at:      1.5,
			want:    []string{"2000-01-01-0200 expected", "2000-01-01-0100 failed no luck"},
			blocked: "FAILED: no luck",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				a := hourly
				if tc.change != nil {
					tc.change(&a)
				}
				e := w.engine("m1", specs(a, proto.App{Name: "down", Request: "x", Depends: map[string]string{"a": "hourly"}}))
				w.run(e)
				if tc.prepare != nil {
					tc.prepare(w, e)
				}
				at(hours(tc.at))
				if tc.late != nil {
					tc.late(w, e)
				}
				got := w.ledgerOf(e, "a", none, none, 0)
				for i := range got {
					got[i] = hideNumbers(got[i])
				}
				wantLines(w.t, "ledger", got, tc.want...)
				blocked, err := e.Blocked(w.t.Context(), "", 0)
				must(w.t, err)
				if len(blocked) == 0 {
					w.t.Fatal("nothing is blocked")
				}
				if why := hideNumbers(blocked[0].On[0].Why); why != tc.blocked {
					w.t.Errorf("blocked: %s\nwant %s", why, tc.blocked)
				}
			})
		})
	}
}

// hideNumbers replaces what depends on the backoff of an undo.
func hideNumbers(s string) string {
	for _, mark := range []string{"the undo failed ", "the next try is at "} {
		if i := strings.Index(s, mark); i >= 0 {
			from := i + len(mark)
			end := from + strings.IndexAny(s[from:]+" ", " )")
			s = s[:from] + "#" + s[end:]
		}
	}
	return s
}

// What was skipped never runs by itself: what waits for it is told how to run it.
func TestSkippedPeriodsSayHowToRunThem(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		apps := specs(
			proto.App{Name: "a", Request: "x", Every: proto.Duration(time.Hour), Missed: plan.MissedNone},
			proto.App{Name: "down", Request: "x", Depends: map[string]string{"a": "hourly"}},
			proto.App{Name: "other", Request: "x", Depends: map[string]string{"a": "daily"}},
		)
		stop := w.run(w.engine("m1", apps))
		at(hours(1.5))
		stop()
		at(hours(2.5))
		e := w.engine("m2", apps)
		w.run(e)
		at(hours(3.5))
		list, err := e.Blocked(w.t.Context(), "down", 0)
		must(w.t, err)
		if len(list) != 1 || list[0].On[0].First != "2000-01-01-0200-a" ||
			!strings.HasPrefix(list[0].On[0].Why, "skipped: missed") ||
			!strings.HasSuffix(list[0].On[0].Why, "; it must be run: treadle app run a --period 2000-01-01-0200-a") {
			w.t.Errorf("blocked: %+v", list)
		}
		list, err = e.Blocked(w.t.Context(), "", 1)
		must(w.t, err)
		if len(list) != 1 {
			w.t.Errorf("one is asked for: %+v", list)
		}
		_, err = e.Blocked(w.t.Context(), "nope", 0)
		errorCode(w.t, err, proto.CodeNotFound)
		w.runPeriods(e, "a", proto.RunPeriods{Period: "2000-01-01-0200-a"})
		if list, err = e.Blocked(w.t.Context(), "down", 0); err != nil || len(list) > 0 {
			w.t.Errorf("after it ran: %+v, %v", list, err)
		}
	})
}

// A period of a dependent app without a start above it is no hole: it is not waited
// for, holds nothing back, and is not late.
func TestLedgerOfPeriodsWithNothingToDo(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		day := dependent("day", "daily", "work")
		day.Deadline = proto.Seconds(time.Hour)
		e := w.engine("m1", calm, specs(proto.App{Name: "work", Request: "x", Cron: "0 9 * * 1-5"}, day, dependent("week", "weekly", "day")))
		w.run(e)
		w.do("day", func(in proto.Instance) (Outcome, error) {
			if in.Name == "2000-01-04-0000-day" {
				return fails(in)
			}
			return ok(in), nil
		})
		at(hours(24 * 9.5))
		list, err := e.Periods(w.t.Context(), "day", time.Time{}, epoch.AddDate(0, 0, 9), 0)
		must(w.t, err)
		var got []string
		for _, p := range list {
			got = append(got, strings.TrimSpace(fmt.Sprint(p.Name[:10], " ", p.State, " ", p.Reason, " ", p.Late, " ", p.Blocks)))
		}
		nothing := " skipped nothing to wait for: no start of work in it false []"
		wantLines(w.t, "days", got, "2000-01-09"+nothing, "2000-01-08"+nothing,
			"2000-01-07 succeeded  false []", "2000-01-06 succeeded  false []", "2000-01-05 succeeded  false []",
			"2000-01-04 failed no luck true [week]", "2000-01-03 succeeded  false []")

		blocked, err := e.Blocked(w.t.Context(), "", 0)
		must(w.t, err)
		got = nil
		for _, b := range blocked {
			for _, on := range b.On {
				got = append(got, fmt.Sprintf("%s on %s %d/%d %s: %s", b.Name, on.App, on.Done, on.Expected, on.First, on.Why))
			}
		}
		wantLines(w.t, "blocked", got, "2000-01-10-0000-week on day 1/5 2000-01-11-0000-day: not due before 2000-01-11T09:00:00Z",
			"2000-01-03-0000-week on day 4/5 2000-01-04-0000-day: FAILED: no luck")
		// The next times say it, too, and begin with the one that is asked for.
		next, err := e.NextTimes(w.t.Context(), "day", epoch.AddDate(0, 0, 13), 3)
		must(w.t, err)
		got = nil
		for _, n := range next {
			got = append(got, n.Name[:10]+" "+n.Why)
		}
		wantLines(w.t, "next days", got, "2000-01-14 starts when all of it is done of work",
			"2000-01-15 nothing to wait for: no start of work in it", "2000-01-16 nothing to wait for: no start of work in it")
		for _, ev := range w.eventsOf("day", proto.AppLate) {
			if ev.Count != 1 || !ev.PeriodStart.Equal(epoch.AddDate(0, 0, 3)) {
				w.t.Errorf("late: %+v", ev)
			}
		}
	})
}

// What was skipped stays to be seen when an app gets other times: together, if these
// do not have its periods.
func TestLedgerShowsWhatWasSkippedBefore(t *testing.T) {
	t.Parallel()
	for cron, want := range map[string][]string{
		"30 * * * *":    {"2000-01-01-0200 skipped (3 periods, the last from 2000-01-01T04:00:00Z)"},
		"0,30 * * * *":  {"2000-01-01-0200 skipped (3 periods, the last from 2000-01-01T04:00:00Z)"},
		"0 0-6 * * *":   {"2000-01-01-0400 skipped", "2000-01-01-0300 skipped", "2000-01-01-0200 skipped"},
		"0 */2 * * *":   {"2000-01-01-0200 skipped (3 periods, the last from 2000-01-01T04:00:00Z)"},
		"*/7 3-4 * * 1": {"2000-01-01-0200 skipped (3 periods, the last from 2000-01-01T04:00:00Z)"},
	} {
		t.Run(cron, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				app := proto.App{Name: "a", Request: "x", Every: proto.Duration(time.Hour), Missed: plan.MissedNone}
				e := w.engine("m1")
				stop := w.run(e)
				w.put(e, app)
				at(hours(1.5))
				stop()
				at(hours(4.5))
				e = w.engine("m2")
				w.run(e)
				at(hours(5.25))
				app.Every, app.Cron = 0, cron
				w.put(e, app)
				got := w.ledgerOf(e, "a", epoch.Add(hours(1.5)), epoch.Add(hours(5)), 0)
				for i, line := range got { // without the reason, which is not of interest here
					words := strings.Fields(line)
					got[i] = strings.Join(words[:2], " ")
					if _, after, ok := strings.Cut(line, " ("); ok {
						got[i] += " (" + after
					}
				}
				wantLines(w.t, "skipped", got, want...)
				for n := 1; n < len(want); n++ {
					if got := w.ledgerOf(e, "a", epoch.Add(hours(1.5)), epoch.Add(hours(5)), n); len(got) != n {
						w.t.Errorf("%d lines, want %d", len(got), n)
					}
				}
			})
		})
	}
}
