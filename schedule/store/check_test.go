package store

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/proto"
	requests "github.com/treadle-run/treadle/request-manager/store"
)

// TestCheckOfRecurringWork damages a database that is right.
func TestCheckOfRecurringWork(t *testing.T) {
	for _, c := range []struct {
		name string
		harm func(t *testing.T, f *fixture)
		want []string // checks
	}{
		{"nothing", func(*testing.T, *fixture) {}, nil},
		{"member silent for long", func(_ *testing.T, f *fixture) { f.clock.Add(76 * time.Second) }, []string{requests.CheckMember}},
		{"member forgotten", func(t *testing.T, f *fixture) {
			f.clock.Add(76 * time.Second)
			f.exec(t, "DELETE FROM schedule_members")
		}, []string{requests.CheckMember}},
		{"no next one", func(t *testing.T, f *fixture) {
			f.exec(t, "UPDATE schedule_instances SET next_of = NULL WHERE app = 'b'")
		}, []string{requests.CheckNext}},
		{"next one runs", func(t *testing.T, f *fixture) {
			f.exec(t, "UPDATE schedule_instances SET next_of = app WHERE app = 'a' AND state = 2")
		}, []string{requests.CheckNext}},
		{"instance lost", func(t *testing.T, f *fixture) { f.exec(t, "DELETE FROM schedule_archive WHERE number = 2") }, []string{requests.CheckNumbers}},
		{"newest lost", func(t *testing.T, f *fixture) { f.exec(t, "DELETE FROM schedule_instances WHERE app = 'b'") }, []string{requests.CheckNumbers}},
		{"number ahead", func(t *testing.T, f *fixture) { f.exec(t, "UPDATE schedule_apps SET last_number = 1 WHERE name = 'a'") }, []string{requests.CheckNumbers}},
		{"purged", func(t *testing.T, f *fixture) {
			_, err := f.PurgeArchive(t.Context(), -time.Second)
			must(t, err)
		}, nil},
		{"slot kept", func(t *testing.T, f *fixture) {
			f.exec(t, "UPDATE schedule_apps SET active_number = 1 WHERE name = 'a'")
		}, []string{requests.CheckSlot}},
		{"old signal", func(t *testing.T, f *fixture) {
			must(t, f.AddSignals(t.Context(), []Signal{{App: "c", PeriodStart: hour(0)}}))
			f.clock.Add(10*time.Minute + time.Second)
			f.exec(t, "UPDATE schedule_members SET heartbeat_at = heartbeat_at + 600000000")
		}, []string{requests.CheckSignal}},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, f *fixture) {
				_, _, _, err := f.MemberHeartbeat(t.Context(), proto.Member{ID: "m1"}, time.Minute)
				must(t, err)
				f.put(t, hourly("a"))
				f.put(t, hourly("b"))
				for h := range 3 {
					f.run(t, "a", proto.InstanceSucceeded, h+1)
				}
				f.claimed(t, "a", "m1")
				c.harm(t, f)
				res, err := f.requests.Check(t.Context(), requests.CheckOptions{RunnerSilence: time.Minute, StopAge: 2 * time.Minute, ClaimAge: 3 * time.Minute})
				must(t, err)
				var got []string
				for _, x := range res.Findings {
					got = append(got, x.Check)
					if x.App == "" || x.Message == "" {
						t.Errorf("found %+v", x)
					}
				}
				if d := cmp.Diff(c.want, got); d != "" {
					t.Errorf("found (-want, +got): %s\n%+v", d, res.Findings)
				}
			})
		})
	}
}
