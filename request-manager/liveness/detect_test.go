package liveness

import (
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/proto"
)

// seenAgo is a live runner, at an address of its own, that was last seen so long
// before now.
func seenAgo(id string, now time.Time, ago time.Duration, change ...func(*Sighting)) Sighting {
	x := Sighting{Runner: proto.Runner{ID: id, URL: "http://" + id, Host: "h", PID: 1}, seen: now.Add(-ago), live: true}
	for _, c := range change {
		c(&x)
	}
	return x
}

// at is a change: the process pid at the one address, registered so long ago by the
// database's clock.
func at(pid int, now time.Time, registered time.Duration) func(*Sighting) {
	return func(x *Sighting) { x.URL, x.PID, x.StartedAt = "http://jr", pid, now.Add(-registered) }
}

// silence is after how long a runner counts as dead in these tests.
const silence = 65 * time.Second

func notLive(x *Sighting) { x.live = false }

func TestDetect(t *testing.T) {
	t.Parallel()
	const second, hour = time.Second, time.Hour
	now := time.Now()
	for _, c := range []struct {
		name string
		s    Snapshot
		dead map[string]string
	}{
		{"a request goes on elsewhere once its runner has not been seen for longer than the limit",
			Snapshot{registered: []Sighting{seenAgo("silent", now, silence+second), seenAgo("well", now, second)}},
			map[string]string{"silent": "its job runner has not been seen for 1m6s"}},
		{"a request stays where it is up to the limit",
			Snapshot{registered: []Sighting{seenAgo("slow", now, silence)}}, nil},
		{"a runner that was seen after the moment of the question is alive",
			Snapshot{registered: []Sighting{seenAgo("new", now, -second)}}, nil},
		{"a runner that came back before this manager looked on is not dead, but its silence counts",
			Snapshot{registered: []Sighting{seenAgo("silent", now, silence+second, notLive)}},
			map[string]string{"silent": "its job runner has not been seen for 1m6s"}},

		{"a request goes on at once when another process is at the address of its runner",
			Snapshot{registered: []Sighting{seenAgo("old", now, 3*second, at(1, now, hour)), seenAgo("new", now, 0, at(2, now, second))}},
			map[string]string{"old": "another process (2 on h) is at the address of its job runner"}},
		{"a request goes on at once when its runner lost its lease and registered under a new id",
			Snapshot{registered: []Sighting{seenAgo("old", now, 3*second, at(1, now, hour)), seenAgo("new", now, 0, at(1, now, second))}},
			map[string]string{"old": "its job runner lost its lease and has registered again"}},
		{"a runner that was seen last is not replaced by one that registered later",
			Snapshot{registered: []Sighting{seenAgo("old", now, second, at(1, now, hour)), seenAgo("new", now, 2*second, at(2, now, second))}}, nil},
		{"a process that this manager has not yet seen live replaces nobody",
			Snapshot{registered: []Sighting{seenAgo("old", now, second, at(1, now, hour)), seenAgo("new", now, 0, at(2, now, second), notLive)}}, nil},
		{"the newest of three processes replaces both others, whichever order the database's clock gives these",
			Snapshot{registered: []Sighting{
				seenAgo("second", now, 2*second, at(2, now, 2*hour)), seenAgo("old", now, 3*second, at(1, now, hour)), seenAgo("third", now, 0, at(3, now, second)),
			}},
			map[string]string{
				"old":    "another process (3 on h) is at the address of its job runner",
				"second": "another process (3 on h) is at the address of its job runner",
			}},
		{"two runners that live at one address do not take requests from each other",
			Snapshot{registered: []Sighting{seenAgo("a", now, second, at(1, now, hour)), seenAgo("b", now, 0, at(2, now, second))},
				sharedURLs: map[string]bool{"http://jr": true}}, nil},
		{"one of two runners that live at one address is dead when it has not been seen for longer than the limit",
			Snapshot{registered: []Sighting{seenAgo("a", now, silence+second, at(1, now, hour)), seenAgo("b", now, 0, at(2, now, second))},
				sharedURLs: map[string]bool{"http://jr": true}},
			map[string]string{"a": "its job runner has not been seen for 1m6s"}},
		{"a runner that lost its lease at a shared address is replaced by its own new id",
			Snapshot{registered: []Sighting{seenAgo("a", now, second, at(1, now, hour)), seenAgo("a.1", now, 0, at(1, now, second))},
				sharedURLs: map[string]bool{"http://jr": true}},
			map[string]string{"a": "its job runner lost its lease and has registered again"}},

		{"a request that was handed over to a runner recorded as dead goes on at once",
			Snapshot{recorded: []string{"jr-1"}},
			map[string]string{"jr-1": "its job runner was declared dead before"}},
		{"a request of a runner that is not registered goes on after the limit",
			Snapshot{absentSince: map[string]time.Time{"gone": now.Add(-silence - second), "maybe": now.Add(-silence)}, DatabaseSince: now.Add(-hour)},
			map[string]string{"gone": "its job runner is no longer registered"}},
		{"a manager that has just reached its database declares nobody dead who could not register",
			Snapshot{absentSince: map[string]time.Time{"gone": now.Add(-hour)}, DatabaseSince: now.Add(-silence)}, nil},
		{"a manager without its database declares nobody dead who could not register",
			Snapshot{absentSince: map[string]time.Time{"gone": now.Add(-hour)}}, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := map[string]string{}
			for id, d := range Detect(c.s, now, silence) {
				got[id] = d.Why
			}
			if !maps.Equal(got, c.dead) {
				t.Errorf("dead: %q, want %q", got, c.dead)
			}
		})
	}
}

// inLooks is a test of what is remembered from look to look, in virtual time. look
// reads the registry and returns who is dead, sorted.
func inLooks(t *testing.T, test func(s *Sightings, look func(...proto.Runner) []string)) {
	t.Helper()
	synctest.Test(t, func(*testing.T) {
		s := NewSightings()
		test(s, func(runners ...proto.Runner) []string {
			now := time.Now()
			s.Record(runners)
			return slices.Sorted(maps.Keys(Detect(s.Snapshot(runners, nil), now, silence)))
		})
	})
}

func TestTheClockOfTheDatabaseDeclaresNobodyDead(t *testing.T) {
	t.Parallel()
	inLooks(t, func(_ *Sightings, look func(...proto.Runner) []string) {
		x := proto.Runner{ID: "jr-1", HeartbeatAt: time.Now()}
		if dead := look(x); len(dead) > 0 {
			t.Error("dead when first read")
		}
		testkit.After(2 * time.Hour)
		x.HeartbeatAt = x.HeartbeatAt.Add(-time.Hour) // a new heartbeat, by a clock that was set back
		if dead := look(x); len(dead) > 0 {
			t.Error("dead after a heartbeat")
		}
		testkit.After(silence)
		if dead := look(x); len(dead) > 0 {
			t.Error("dead within the limit")
		}
		testkit.After(time.Second)
		if dead := look(x); len(dead) != 1 {
			t.Error("not dead after the limit")
		}
	})
}

// The clock of the database was set back between two processes at one address.
func TestWhoCameLastIsNotAMatterOfTheClock(t *testing.T) {
	t.Parallel()
	inLooks(t, func(_ *Sightings, look func(...proto.Runner) []string) {
		now := time.Now()
		old := proto.Runner{ID: "old", PID: 1, StartedAt: now, HeartbeatAt: now}
		look(old)
		testkit.After(time.Second)
		second := proto.Runner{ID: "second", PID: 2, StartedAt: now.Add(-time.Hour), HeartbeatAt: now.Add(-time.Hour)}
		if dead := look(second, old); len(dead) > 0 {
			t.Errorf("%v dead: the dead process took the place of the one that lives", dead)
		}
		testkit.After(time.Second)
		third := proto.Runner{ID: "third", PID: 3, StartedAt: now.Add(time.Hour), HeartbeatAt: now.Add(time.Hour)}
		if dead := look(second, old, third); !slices.Equal(dead, []string{"old", "second"}) {
			t.Errorf("%v dead: the third takes the place of both others", dead)
		}
	})
}

// A manager that has just started cannot know which of two lives before it has seen
// one of them.
func TestAManagerThatHasJustStartedSeesBeforeItJudges(t *testing.T) {
	t.Parallel()
	inLooks(t, func(s *Sightings, look func(...proto.Runner) []string) {
		now := time.Now()
		old := proto.Runner{ID: "old", PID: 1, StartedAt: now, HeartbeatAt: now}
		second := proto.Runner{ID: "second", PID: 2, StartedAt: now.Add(-time.Hour), HeartbeatAt: now.Add(-time.Hour)}
		for _, when := range []string{"at first sight", "after an outage of the database"} {
			if dead := look(second, old); len(dead) > 0 {
				t.Errorf("%v dead %s", dead, when)
			}
			testkit.After(time.Second)
			old.HeartbeatAt = old.HeartbeatAt.Add(2 * time.Second)
			if dead := look(second, old); !slices.Equal(dead, []string{"second"}) {
				t.Errorf("%v dead after a heartbeat of the other one", dead)
			}
			s.Interrupt()
		}
	})
}
