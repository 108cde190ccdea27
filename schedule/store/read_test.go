package store

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/proto"
)

func TestWhatHasSucceeded(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.put(t, hourly("a"))
		for i, state := range []proto.InstanceState{proto.InstanceSucceeded, proto.InstanceFailed, proto.InstanceSucceeded} {
			f.run(t, "a", state, i+1)
		}
		_, err := f.ExtraInstances(t.Context(), "a", []NewInstance{period("a", 0)}, true)
		must(t, err)
		f.run(t, "a", proto.InstanceSucceeded, -1)
		n, err := f.SucceededCount(t.Context(), "a", hour(0), hour(3))
		must(t, err)
		if n != 2 {
			t.Errorf("%d periods have succeeded, want 2", n)
		}
		for h, want := range map[int]bool{0: true, 1: false, 2: true, 3: false} {
			if got, err := f.Succeeded(t.Context(), "a", hour(h)); err != nil || got != want {
				t.Errorf("hour %d: %v, %v", h, got, err)
			}
		}
		list, err := f.SucceededInstances(t.Context(), "a", hour(0), hour(9), 10)
		must(t, err)
		if len(list) != 2 || list[0].Run != 1 || !list[1].PeriodStart.Equal(hour(2)) {
			t.Errorf("succeeded: %+v", list)
		}
		if _, err := f.LastInstance(t.Context(), "b"); !errors.Is(err, ErrNotFound) {
			t.Errorf("last instance of no app: %v", err)
		}
	})
}

func TestListInstances(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.toHour(5)
		for _, app := range []string{"a", "b"} {
			p := hourly(app)
			p.First.Host = "host-" + app
			f.put(t, p)
			for h := range 3 {
				f.clock.Add(time.Minute)
				f.run(t, app, []proto.InstanceState{proto.InstanceSucceeded, proto.InstanceFailed}[h%2], h+1)
			}
		}
		f.claimed(t, "b", "m1")
		for name, c := range map[string]struct {
			f    InstanceFilter
			want []string
		}{
			"all":            {InstanceFilter{}, []string{"a4 QUEUED", "b4 RUNNING", "b3 SUCCEEDED", "b2 FAILED", "b1 SUCCEEDED", "a3 SUCCEEDED", "a2 FAILED", "a1 SUCCEEDED"}},
			"app":            {InstanceFilter{App: "a"}, []string{"a4 QUEUED", "a3 SUCCEEDED", "a2 FAILED", "a1 SUCCEEDED"}},
			"page":           {InstanceFilter{App: "a", Limit: 2, Offset: 1}, []string{"a3 SUCCEEDED", "a2 FAILED"}},
			"page in live":   {InstanceFilter{Limit: 2, Offset: 1}, []string{"b4 RUNNING", "b3 SUCCEEDED"}},
			"page in others": {InstanceFilter{Limit: 2, Offset: 3}, []string{"b2 FAILED", "b1 SUCCEEDED"}},
			"host":           {InstanceFilter{Host: "host-b"}, []string{"b1 SUCCEEDED"}},
			"state":          {InstanceFilter{States: []proto.InstanceState{proto.InstanceFailed, proto.InstanceRunning}}, []string{"b4 RUNNING", "b2 FAILED", "a2 FAILED"}},
			"since, until":   {InstanceFilter{Since: hour(1), Until: hour(3)}, []string{"b3 SUCCEEDED", "b2 FAILED", "a3 SUCCEEDED", "a2 FAILED"}},
		} {
			list, err := f.Instances(t.Context(), c.f)
			must(t, err)
			var got []string
			for _, in := range list {
				got = append(got, fmt.Sprintf("%s%d %s", in.App, in.Number, in.State))
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Errorf("%s (-want, +got):\n%s", name, d)
			}
		}
	})
}

func TestMembers(t *testing.T) {
	const stale = 15 * time.Second
	each(t, func(t *testing.T, f *fixture) {
		beat := func(id string) ([]string, int, error) {
			live, shards, now, err := f.MemberHeartbeat(t.Context(), proto.Member{ID: id, Host: "h", PID: 7}, stale)
			var ids []string
			for _, n := range live {
				ids = append(ids, n.ID)
			}
			if err == nil && !now.Equal(f.clock.Now().Truncate(time.Microsecond)) {
				t.Errorf("now is %s", now)
			}
			return ids, shards, err
		}
		want := func(id string, live ...string) {
			t.Helper()
			got, _, err := beat(id)
			must(t, err)
			if d := cmp.Diff(live, got); d != "" {
				t.Errorf("live (-want, +got): %s", d)
			}
		}
		want("m1", "m1")
		want("m2", "m1", "m2")
		f.put(t, hourly("a"))
		f.claimed(t, "a", "m1")
		f.put(t, hourly("b"))
		f.claimed(t, "b", "never-heard-of")
		staleApps := func() (apps []string) {
			list, err := f.StaleInstances(t.Context(), stale, 10)
			must(t, err)
			for _, in := range list {
				apps = append(apps, in.App)
			}
			return apps
		}
		if d := cmp.Diff([]string{"b"}, staleApps()); d != "" {
			t.Errorf("stale: %s", d)
		}
		f.clock.Add(stale) // the last moment
		want("m2", "m1", "m2")
		if d := cmp.Diff([]string{"b"}, staleApps()); d != "" {
			t.Errorf("stale at the last moment: %s", d)
		}
		f.clock.Add(time.Microsecond)
		want("m2", "m2")
		f.put(t, hourly("c"))
		late := Claim{Spec: f.newestOf(t, "c").InstanceSpecifier, Member: "m1"}
		for _, late.Slot = range []bool{true, false} {
			if _, err := f.ClaimInstance(t.Context(), late); !errors.Is(err, ErrNotUpdated) {
				t.Errorf("claimed by a member that was given up: %v", err)
			}
		}
		if d := cmp.Diff([]string{"a", "b"}, staleApps()); d != "" {
			t.Errorf("stale: %s", d)
		}
		if _, _, err := beat("m1"); !errors.Is(err, ErrMemberGone) {
			t.Errorf("a heartbeat that came too late: %v", err)
		}
		must(t, f.MemberGone(t.Context(), "m2"))
		if _, _, err := beat("m2"); !errors.Is(err, ErrMemberGone) {
			t.Errorf("a heartbeat of a member that has ended: %v", err)
		}
		// The clock goes back: nobody is stale at once, and nobody lives for an hour.
		want("m3", "m3")
		want("m4", "m3", "m4")
		f.clock.Add(-time.Hour)
		if got, _, err := beat("m4"); err != nil || len(got) < 2 {
			t.Errorf("live after the clock went back: %v, %v", got, err)
		}
		f.clock.Add(stale + 1000)
		if _, _, err := beat("m3"); !errors.Is(err, ErrMemberGone) {
			t.Errorf("a member that was silent since: %v", err)
		}
		f.clock.Add(2 * time.Hour)
		n, err := f.PurgeMembers(t.Context(), time.Minute)
		must(t, err)
		if nodes, err := f.Members(t.Context()); err != nil || len(nodes) != 0 || n != 4 {
			t.Errorf("%d purged, there are %v, %v", n, nodes, err)
		}
	})
}

func TestShards(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		shards := func() int {
			_, n, _, err := f.MemberHeartbeat(t.Context(), proto.Member{ID: "m1"}, time.Minute)
			must(t, err)
			return n
		}
		if n := shards(); n != DefaultShards {
			t.Errorf("%d shards at first", n)
		}
		for _, n := range []int{7, 128} {
			must(t, f.SetShards(t.Context(), n))
			if got := shards(); got != n {
				t.Errorf("%d shards, want %d", got, n)
			}
		}
		for _, n := range []int{0, -1, Buckets + 1} {
			if err := f.SetShards(t.Context(), n); err == nil {
				t.Errorf("%d shards were accepted", n)
			}
		}
	})
}

func TestDueByBucket(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for i := range 20 {
			f.put(t, hourly(fmt.Sprintf("app-%d", i)))
		}
		f.toHour(0)
		seen := map[string]int{}
		for _, ranges := range [][]BucketRange{{{0, 100}, {700, Buckets}}, {{100, 300}, {300, 700}}, nil} {
			list, now, err := f.DueInstances(t.Context(), ranges, 0, 100)
			must(t, err)
			if !now.Equal(hour(0)) {
				t.Errorf("now is %s", now)
			}
			for _, d := range list {
				seen[d.App]++
				in := false
				for _, r := range ranges {
					in = in || Bucket(d.App) >= r.From && Bucket(d.App) < r.To
				}
				if !in || !d.FetchAt.Equal(hour(0)) {
					t.Errorf("%s of bucket %d is in %v, at %s", d.App, Bucket(d.App), ranges, d.FetchAt)
				}
			}
		}
		if len(seen) != 20 {
			t.Errorf("%d apps were due in one of the ranges", len(seen))
		}
		f.clock.Add(-time.Second)
		for ahead, want := range map[time.Duration]int{time.Second: 20, time.Second - time.Microsecond: 0} {
			list, _, err := f.DueInstances(t.Context(), []BucketRange{{0, Buckets}}, ahead, 100)
			if err != nil || len(list) != want {
				t.Errorf("%d due %s ahead, want %d, %v", len(list), ahead, want, err)
			}
		}
		f.clock.Add(11 * time.Second)
		for by, want := range map[time.Duration]int{10 * time.Second: 5, 11 * time.Second: 0} {
			list, err := f.OverdueInstances(t.Context(), by, 5)
			if err != nil || len(list) != want {
				t.Errorf("%d overdue by %s, want %d, %v", len(list), by, want, err)
			}
		}
	})
}

func TestPurgeWhatEndedLongAgo(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.put(t, hourly("a"))
		for h := range 4 {
			f.toHour(h)
			f.run(t, "a", proto.InstanceSucceeded, h+1)
			must(t, f.AddEvents(t.Context(), []AppEvent{{App: "a", Kind: proto.AppFailed, PeriodStart: hour(h)}}))
		}
		n, err := f.PurgeArchive(t.Context(), 90*time.Minute)
		must(t, err)
		e, err := f.PurgeEvents(t.Context(), 90*time.Minute)
		must(t, err)
		if left := f.count(t, "schedule_archive"); n != 2 || left != 2 || e != 2 {
			t.Errorf("%d instances purged, %d left, %d events purged", n, left, e)
		}
		if _, shards, _, err := f.MemberHeartbeat(t.Context(), proto.Member{ID: "m1"}, time.Minute); err != nil || shards != DefaultShards {
			t.Errorf("%d shards after a purge, %v", shards, err)
		}
		events, err := f.Events(t.Context(), "", 0, 1)
		must(t, err)
		if len(events) != 1 || !events[0].PeriodStart.Equal(hour(2)) {
			t.Errorf("events: %+v", events)
		}
		if events, err = f.Events(t.Context(), "", events[0].ID, 10); err != nil || len(events) != 1 {
			t.Errorf("events after it: %+v, %v", events, err)
		}
	})
}
