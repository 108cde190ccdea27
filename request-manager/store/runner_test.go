package store

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/proto"
)

func TestRunnersRegisterByHeartbeat(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		first := proto.Runner{ID: "jr-1", URL: "http://jr-1", Host: "h1", PID: 42, Version: "v1", Capacity: 7,
			Labels: map[string]string{"zone": "a"}}
		start := f.clock.Now()
		beat := func(r proto.Runner) bool {
			t.Helper()
			drain, err := f.Heartbeat(ctx, r)
			must(t, err)
			return drain
		}
		beat(first)
		f.clock.Add(time.Second)
		beat(proto.Runner{ID: "jr-2", URL: "http://jr-2", Draining: true})
		first.Capacity = 8
		beat(first)
		id := f.running(t)

		runners, err := f.Runners(ctx)
		must(t, err)
		want1 := first
		want1.StartedAt, want1.HeartbeatAt = start, f.clock.Now()
		want1.Running = []proto.RunningChain{{RequestID: id, Epoch: 1}}
		want2 := proto.Runner{ID: "jr-2", URL: "http://jr-2", Draining: true, Running: []proto.RunningChain{},
			StartedAt: f.clock.Now(), HeartbeatAt: f.clock.Now()}
		if d := cmp.Diff([]proto.Runner{want1, want2}, runners); d != "" {
			t.Errorf("runners (-want +got):\n%s", d)
		}

		must(t, f.RequestDrain(ctx, "http://jr-1", true))
		if !beat(first) {
			t.Error("the runner was not told to drain")
		}
		runners, err = f.Runners(ctx)
		must(t, err)
		if !runners[0].Draining {
			t.Error("a runner that was asked to drain is not shown as draining")
		}
		must(t, f.RequestDrain(ctx, "jr-1", false))
		if beat(first) {
			t.Error("the runner is still told to drain")
		}
		must(t, f.RemoveRunner(ctx, "jr-2"))
		for name, err := range map[string]error{
			"removed twice":   f.RemoveRunner(ctx, "jr-2"),
			"drained nothing": f.RequestDrain(ctx, "jr-2", true),
		} {
			if !errors.Is(err, ErrNotFound) {
				t.Errorf("%s: error %v, want ErrNotFound", name, err)
			}
		}
		if _, err := f.Heartbeat(ctx, proto.Runner{ID: "jr-2", URL: "http://jr-2"}); !errors.Is(err, ErrRunnerGone) {
			t.Errorf("a late heartbeat of a removed runner: %v, want ErrRunnerGone", err)
		}
		must(t, f.RequestDrain(ctx, "jr-1", true))
		must(t, f.RemoveRunner(ctx, "jr-1"))
		again := first
		again.ID = "jr-1.1"
		if !beat(again) {
			t.Error("the same process under another id is no longer asked to drain")
		}
		gone, err := f.GoneRunners(ctx, []string{"jr-1", "jr-1.1", "jr-2", "jr-3"})
		slices.Sort(gone)
		if want := []string{"jr-1", "jr-2"}; err != nil || !slices.Equal(gone, want) {
			t.Errorf("gone are %v, %v, want %v", gone, err, want)
		}
		f.clock.Add(time.Hour)
		for _, want := range []int{2, 0} {
			if n, err := f.PurgeRunners(ctx, time.Minute); err != nil || n != want {
				t.Errorf("purged %d, %v, want %d", n, err, want)
			}
		}
	})
}

func TestWhatRunsWhere(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		first := f.running(t)
		since := f.clock.Now()
		f.clock.Add(time.Second)
		second := f.running(t)
		f.report(t, proto.ReportItem{RequestID: first, Epoch: 1, FinishedJobs: 1}) // not a hand-over
		_, err := f.Stop(t.Context(), second)
		must(t, err)
		f.inState(t, proto.StateComplete)
		f.suspended(t)

		want := []Held{
			{RequestID: first, Epoch: 1, Since: since, RunnerID: "jr-1", URL: "http://jr-1", TotalJobs: 3},
			{RequestID: second, Epoch: 1, Since: f.clock.Now(), RunnerID: "jr-1", URL: "http://jr-1", StopRequested: true, TotalJobs: 3},
		}
		held, err := f.HeldBy(t.Context(), "jr-1")
		must(t, err)
		if d := cmp.Diff(want, held); d != "" {
			t.Errorf("held (-want +got):\n%s", d)
		}
		if held, err = f.HeldBy(t.Context(), "jr-2"); err != nil || len(held) != 0 {
			t.Errorf("held by another: %+v, %v", held, err)
		}
		loads, err := f.RunnerLoads(t.Context())
		must(t, err)
		if !maps.Equal(loads, map[string]int{"jr-1": 2}) {
			t.Errorf("loads %v", loads)
		}
	})
}
