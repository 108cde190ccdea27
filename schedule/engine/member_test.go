package engine

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/store"
)

// fleet puts apps that start every minute; each instance takes half a minute.
func (w *world) fleet(e *Engine, n int) {
	for i := range n {
		name := fmt.Sprintf("app%02d", i)
		w.do(name, lasts(30*time.Second))
		w.put(e, proto.App{Name: name, Request: "x", Every: proto.Duration(time.Minute)})
	}
}

func (w *world) shardsByMember(e *Engine) map[string]int {
	w.t.Helper()
	members, err := e.Members(w.t.Context())
	must(w.t, err)
	out := map[string]int{}
	for _, m := range members {
		if m.Live {
			out[m.ID] = m.Shards
		}
	}
	return out
}

func brisk(c *Config) {
	c.Poll, c.Heartbeat, c.StaleAfter = 5*time.Second, 2*time.Second, 15*time.Second
}

func TestMembersShareTheWork(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m1, m2 := w.engine("m1", brisk), w.engine("m2", brisk)
		w.fleet(m1, 20)
		w.run(m1)
		stop2 := w.run(m2)
		at(3*time.Minute + 50*time.Second)
		by := map[string]int{}
		for i := range 20 {
			app := fmt.Sprintf("app%02d", i)
			list := w.instances(app)
			if len(list) != 4 {
				w.t.Errorf("%s has %d instances after three minutes, want 3 and the next", app, len(list))
			}
			for _, in := range list[:3] {
				by[in.Member]++
				if in.State != proto.InstanceSucceeded || in.StartedAt.Sub(in.Due) > time.Second {
					w.t.Errorf("%s: %s, started %s", in.Name, in.State, in.StartedAt)
				}
			}
			w.wantSound(app)
		}
		if by["m1"] < 10 || by["m2"] < 10 {
			w.t.Errorf("the members ended %v instances, want both many", by)
		}
		if got := w.shardsByMember(m1); got["m1"]+got["m2"] != store.DefaultShards || got["m1"] == 0 || got["m2"] == 0 {
			w.t.Errorf("shards: %v", got)
		}

		stop2() // in order: the other one has all at once
		after(3 * time.Second)
		if got := w.shardsByMember(m1); !maps.Equal(got, map[string]int{"m1": store.DefaultShards}) {
			w.t.Errorf("shards after one member left: %v", got)
		}
		at(5*time.Minute + 50*time.Second)
		for i := range 20 {
			for _, in := range w.instances(fmt.Sprintf("app%02d", i))[3:5] {
				if in.State != proto.InstanceSucceeded || in.StartedAt.Sub(in.Due) > 10*time.Second {
					w.t.Errorf("%s waited for the member that left: %s, started %v", in.Name, in.State, in.StartedAt)
				}
			}
		}
	})
}

func TestNumberOfShardsChanges(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m1, m2 := w.engine("m1", brisk), w.engine("m2", brisk)
		w.fleet(m1, 5)
		w.run(m1)
		w.run(m2)
		for i, n := range []int{1, 7, 128} {
			must(w.t, m1.SetShards(w.t.Context(), n))
			at(time.Duration(i+1)*time.Minute + 50*time.Second)
			got := w.shardsByMember(m1)
			if sum := got["m1"] + got["m2"]; sum != n {
				w.t.Errorf("%d shards are somebody's, of %d: %v", sum, n, got)
			}
			for i := range 5 {
				app := fmt.Sprintf("app%02d", i)
				w.wantSound(app)
				if k := len(w.instances(app)); k != int(time.Since(epoch)/time.Minute)+1 {
					w.t.Errorf("%s has %d instances at %s", app, k, time.Since(epoch))
				}
			}
		}
		errorCode(w.t, m1.SetShards(w.t.Context(), 0), proto.CodeInvalid)
		errorCode(w.t, m1.SetShards(w.t.Context(), 1025), proto.CodeInvalid)
	})
}

// A member that died without a word holds an instance: it is taken over when its
// last heartbeat is older than StaleAfter, and not before.
func TestTakeOverAtTheEdge(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		e := w.engine("m1", brisk, func(c *Config) { c.Poll = time.Second })
		w.put(e, proto.App{Name: "tick", Request: "x", Every: proto.Duration(4 * time.Minute)})
		w.run(e)
		at(3*time.Minute + 50*time.Second)
		// Another member takes the instance in this moment, and is never seen again.
		_, _, _, err := w.store.MemberHeartbeat(w.t.Context(), proto.Member{ID: "dead"}, 15*time.Second)
		must(w.t, err)
		last := time.Now()
		in := w.instances("tick")[0]
		_, err = w.store.ClaimInstance(w.t.Context(), store.Claim{Spec: in.InstanceSpecifier, Member: "dead", Slot: true})
		must(w.t, err)
		after(time.Until(last.Add(15 * time.Second)))
		w.wantRan("tick")
		after(4 * time.Second)
		w.wantRan("tick", "2000-01-01-0004")
		if evs := w.eventsOf("tick", proto.AppStolen); len(evs) != 1 {
			w.t.Errorf("%d events say that it was taken over, want 1", len(evs))
		}
	})
}

// While the database is unavailable a member must not work longer than others wait: its
// calls end with its right to work, and it comes back as another one.
func TestMemberThatCannotBeat(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		h := &stuck{world: w, began: make(chan time.Time, 10), ended: make(chan time.Time, 10)}
		e := w.engine("m1", brisk, func(c *Config) { c.Hook = h })
		w.put(e, proto.App{Name: "tick", Request: "x", Every: proto.Duration(4 * time.Minute)})
		w.run(e)
		at(4*time.Minute + time.Second)
		<-h.began
		// Another member signs it off: its next heartbeat is refused.
		must(w.t, w.store.MemberGone(w.t.Context(), "m1"))
		after(4 * time.Second)
		select {
		case <-h.ended:
		default:
			w.t.Fatal("the hook was not cut off")
		}
		after(30 * time.Second)
		<-h.began // again, by the member under its new name
		if in := w.instances("tick")[0]; in.Member != "m1.1" {
			w.t.Errorf("the instance is with %q, want the member's new name", in.Member)
		}
	})
}

// stuck is a hook that runs until it is cut off.
type stuck struct {
	*world
	began, ended chan time.Time
}

func (s *stuck) Run(ctx context.Context, _ proto.App, _ proto.Instance) (Outcome, error) {
	s.began <- time.Now()
	<-ctx.Done()
	s.ended <- time.Now()
	return Outcome{}, ctx.Err()
}

// A member that ends in order gives up what it works on: another one goes on at once.
func TestShutdownGivesUp(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		h := &stuck{world: w, began: make(chan time.Time, 10), ended: make(chan time.Time, 10)}
		m1 := w.engine("m1", func(c *Config) { c.Hook = h })
		w.put(m1, proto.App{Name: "tick", Request: "x", Every: proto.Duration(time.Hour)})
		stop := w.run(m1)
		at(hours(1) + time.Second)
		<-h.began
		stop()
		if in := w.instances("tick")[0]; in.Member != "" || in.State != proto.InstanceRunning {
			w.t.Errorf("the instance is %s with %q, want it given up", in.State, in.Member)
		}
		w.run(w.engine("m2"))
		after(time.Second)
		w.wantRan("tick", "2000-01-01-0100")
	})
}

// The database's clock is set while everything runs.
func TestDatabaseClockIsSet(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		shift time.Duration
	}{{"an hour forward", time.Hour}, {"an hour back", -time.Hour}} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				calm := func(c *Config) {
					c.Poll, c.Heartbeat, c.StaleAfter = 30*time.Second, 15*time.Second, 90*time.Second
				}
				m1, m2 := w.engine("m1", calm), w.engine("m2", calm)
				w.fleet(m1, 4)
				w.run(m1)
				w.run(m2)
				at(2*time.Minute + 10*time.Second) // instances run
				w.shift.Store(int64(tc.shift))
				after(2 * time.Minute)
				if tc.shift < 0 {
					after(time.Hour) // until the times come that have not been yet
				}
				for i := range 4 {
					app := fmt.Sprintf("app%02d", i)
					w.wantSound(app)
					list := w.instances(app)
					for k := 1; k < len(list); k++ {
						if !list[k].PeriodStart.After(list[k-1].PeriodStart) {
							w.t.Errorf("%s comes after %s", list[k].Name, list[k-1].Name)
						}
					}
					if len(w.eventsOf(app, proto.AppStolen)) > 0 {
						w.t.Errorf("an instance of %s was taken from a member that lives", app)
					}
					last := list[len(list)-1]
					if d := last.Due.Sub(time.Now().Add(tc.shift)); d > time.Minute {
						w.t.Errorf("the next one of %s is due in %s", app, d)
					}
				}
			})
		})
	}
}

func TestShardsMoveOnlyWhereTheyMust(t *testing.T) {
	t.Parallel()
	three := []string{"a", "b", "c"}
	owners := map[int]string{}
	count := map[string]int{}
	for s := range 64 {
		owners[s] = owner(s, three)
		count[owners[s]]++
	}
	for _, id := range three {
		if count[id] < 10 {
			t.Errorf("%s has %d of 64 shards", id, count[id])
		}
	}
	for s := range 64 {
		if now := owner(s, []string{"c", "a"}); owners[s] != "b" && now != owners[s] {
			t.Errorf("shard %d moved from %s to %s although its member is there", s, owners[s], now)
		}
	}
	for _, n := range []int{1, 3, 64, 1000, 1024} {
		covered := make([]int, store.Buckets)
		for _, id := range three {
			buckets, _ := shardsOf(id, three, n)
			for _, b := range buckets {
				for i := b.From; i < b.To; i++ {
					covered[i]++
				}
			}
		}
		if i := slices.IndexFunc(covered, func(k int) bool { return k != 1 }); i >= 0 {
			t.Errorf("of %d shards, bucket %d is %d members'", n, i, covered[i])
		}
	}
}
