package store

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/internal/database/databasetest"
	"github.com/treadle-run/treadle/proto"
)

// racers is how many goroutines want the same thing, half of them each in a process
// of their own.
const racers = 8

// race calls fn from many goroutines at once, on two stores in turn, and returns how
// many of the calls report that they won.
func (f *fixture) race(t *testing.T, fn func(s *Store, i int) (won bool, err error)) int {
	t.Helper()
	other := openStore(t, f.cfg)
	start := make(chan struct{})
	var won atomic.Int64
	var g errgroup.Group
	for i := range racers {
		s := f.Store
		if i%2 == 1 {
			s = other
		}
		g.Go(func() error {
			<-start
			ok, err := fn(s, i)
			if ok {
				won.Add(1)
			}
			return err
		})
	}
	close(start)
	must(t, g.Wait())
	return int(won.Load())
}

// won turns the error of somebody who was too late into a defeat.
func won(err error) (bool, error) {
	if errors.Is(err, ErrNotUpdated) {
		return false, nil
	}
	if _, ok := errors.AsType[*SlotTakenError](err); ok {
		return false, nil
	}
	return err == nil, err
}

func TestOneMemberWinsAnInstance(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		for round := range 10 {
			app := fmt.Sprintf("a%d", round)
			f.put(t, hourly(app))
			spec := f.newestOf(t, app).InstanceSpecifier
			n := f.race(t, func(s *Store, i int) (bool, error) {
				_, err := s.ClaimInstance(t.Context(), Claim{Spec: spec, Member: fmt.Sprintf("m%d", i), Slot: true})
				return won(err)
			})
			if n != 1 {
				t.Fatalf("%d members claimed it", n)
			}
			in := f.newestOf(t, app)
			n = f.race(t, func(s *Store, _ int) (bool, error) {
				return won(s.FinishInstance(t.Context(), Finish{Spec: in.InstanceSpecifier, State: proto.InstanceSucceeded,
					Next: ptr(period(app, 1)), Signals: []Signal{{App: "x", PeriodStart: hour(round)}},
					Events: []AppEvent{{App: app, Kind: proto.AppSkipped, PeriodStart: hour(0)}}}))
			})
			if n != 1 {
				t.Fatalf("%d members ended it", n)
			}
			f.wantNumbers(t, app, 2)
			if n := f.count(t, "schedule_events WHERE app = ?", app); n != 1 {
				t.Errorf("%d events, want 1", n)
			}
		}
	})
}

func TestOneInstanceHasTheSlot(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.put(t, hourly("a"))
		var list []NewInstance
		for i := range racers {
			list = append(list, period("a", i-20))
		}
		_, err := f.ExtraInstances(t.Context(), "a", list, false)
		must(t, err)
		for range 3 {
			n := f.race(t, func(s *Store, i int) (bool, error) {
				spec := proto.InstanceSpecifier{App: "a", Number: uint64(i + 2), Sequence: 1}
				_, err := s.ClaimInstance(t.Context(), Claim{Spec: spec, Member: fmt.Sprintf("m%d", i), Slot: true})
				return won(err)
			})
			if n != 1 {
				t.Fatalf("%d instances have the slot", n)
			}
			app, err := f.App(t.Context(), "a")
			must(t, err)
			in, err := instanceOf(t.Context(), f.db.Query("SELECT "+liveFull+" FROM schedule_instances WHERE app = 'a' AND member IS NOT NULL"), f.db.Writer)
			must(t, err)
			if app.ActiveNumber != in.Number {
				t.Errorf("%d runs, and %d has the slot", in.Number, app.ActiveNumber)
			}
			must(t, f.FinishInstance(t.Context(), Finish{Spec: in.InstanceSpecifier, State: proto.InstanceSucceeded}))
		}
		f.wantNumbers(t, "a", racers+1)
	})
}

// complete reports whether both upstream apps have succeeded for an hour.
func complete(t *testing.T, s *Store, start time.Time) (bool, error) {
	for _, app := range []string{"a", "b"} {
		if ok, err := s.Succeeded(t.Context(), app, start); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

// settleAll evaluates signals as members do, until there are none.
func settleAll(t *testing.T, s *Store) error {
	for {
		list, err := s.Signals(t.Context(), 10)
		if err != nil || len(list) == 0 {
			return err
		}
		for _, sig := range list {
			var n *NewInstance
			ok, err := complete(t, s, sig.PeriodStart)
			if err != nil {
				return err
			}
			if ok {
				n = ptr(period(sig.App, int(sig.PeriodStart.Sub(hour(0))/time.Hour)))
			}
			if _, err := s.SettleSignal(t.Context(), sig, n); err != nil {
				return err
			}
		}
	}
}

// TestTwoUpstreamAppsEndAtOnce on two members, each of which looks at once whether
// the period is complete: the dependent starts once, never twice and never not.
func TestTwoUpstreamAppsEndAtOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) { endAtOnce(t, f, f.Store, openStore(t, f.cfg)) })
}

func endAtOnce(t *testing.T, f *fixture, first, second *Store) {
	const hours = 25
	f.put(t, hourly("a"))
	f.put(t, hourly("b"))
	f.put(t, dependent("c", "a", "b"))
	for h := range hours {
		start := make(chan struct{})
		var g errgroup.Group
		for app, s := range map[string]*Store{"a": first, "b": second} {
			in := f.claimed(t, app, "m-"+app)
			g.Go(func() error {
				<-start
				err := s.FinishInstance(t.Context(), Finish{Spec: in.InstanceSpecifier, State: proto.InstanceSucceeded, Generation: 2,
					Next: ptr(period(app, h+1)), Signals: []Signal{{App: "c", PeriodStart: hour(h)}}})
				return errors.Join(err, settleAll(t, s))
			})
			g.Go(func() error {
				<-start
				return settleAll(t, s)
			})
		}
		close(start)
		must(t, g.Wait())
		if n := f.count(t, "schedule_instances WHERE app = 'c'"); n != h+1 {
			t.Fatalf("%d instances of the dependent after %d hours", n, h+1)
		}
	}
	f.wantNumbers(t, "a", hours+1)
	f.wantNumbers(t, "c", hours)
	if n := f.count(t, "schedule_signals"); n != 0 {
		t.Errorf("%d signals are left", n)
	}
}

func TestOneMemberSettlesASignal(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.put(t, dependent("c", "a"))
		for h := range 10 {
			must(t, f.AddSignals(t.Context(), []Signal{{App: "c", PeriodStart: hour(h)}}))
			sig := f.signal(t)
			n := f.race(t, func(s *Store, _ int) (bool, error) {
				return s.SettleSignal(t.Context(), sig, ptr(period("c", h)))
			})
			if n != 1 {
				t.Fatalf("%d members made the instance", n)
			}
		}
		f.wantNumbers(t, "c", 10)
	})
}

// TestNumbersWhileAllChangesAtOnce runs an app while it is changed, paused, deleted,
// brought back and run again.
func TestNumbersWhileAllChangesAtOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.put(t, hourly("a"))
		other := openStore(t, f.cfg)
		const rounds = 30
		var hours atomic.Int64
		next := func() *NewInstance { return ptr(period("a", int(hours.Add(1)))) }
		fine := func(err error) error {
			for _, ok := range []error{ErrNotUpdated, ErrStaleApp, ErrNotFound} {
				if errors.Is(err, ok) {
					return nil
				}
			}
			if _, ok := errors.AsType[*SlotTakenError](err); ok {
				return nil
			}
			return err
		}
		var g errgroup.Group
		for w, s := range []*Store{f.Store, other, f.Store} {
			g.Go(func() error {
				for range rounds {
					if err := runOne(t, s, fmt.Sprintf("m%d", w), next, fine); err != nil {
						return err
					}
				}
				return nil
			})
		}
		g.Go(func() error {
			for i := range rounds {
				p := hourly("a")
				p.App.Args, p.First = proto.Values{"i": fmt.Sprint(i)}, next()
				p.App.Jitter = proto.Seconds(time.Duration(i%2) * time.Second)
				_, err := other.PutApp(t.Context(), p)
				if i%5 == 4 {
					err = errors.Join(err, fine(f.DeleteApp(t.Context(), "a", proto.AppFromAPI, 0)))
				}
				if i%3 == 2 {
					err = errors.Join(err, fine(f.PauseApp(t.Context(), "a", true)), fine(other.PauseApp(t.Context(), "a", false)))
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		g.Go(func() error {
			for i := range rounds {
				_, err := f.ExtraInstances(t.Context(), "a", []NewInstance{period("a", -i), period("a", i)}, true)
				if err := fine(err); err != nil {
					return err
				}
			}
			return nil
		})
		must(t, g.Wait())
		var last int
		must(t, f.db.Query("SELECT last_number FROM schedule_apps").Row(t.Context(), f.db.Writer, &last))
		f.wantNumbers(t, "a", last)
		if n := f.count(t, "schedule_instances WHERE next_of = 'a' AND (state <> ? OR recurring = 0)", proto.InstanceQueued); n != 0 {
			t.Errorf("%d instances that are the next one are not QUEUED or not recurring", n)
		}
	})
}

// runOne claims and ends some instance of a.
func runOne(t *testing.T, s *Store, member string, next func() *NewInstance, fine func(error) error) error {
	in, err := instanceOf(t.Context(), s.db.Query("SELECT "+liveFull+" FROM schedule_instances WHERE member IS NULL ORDER BY sequence_number LIMIT 1"), s.db.Reader)
	if err != nil {
		return fine(err)
	}
	in, err = s.ClaimInstance(t.Context(), Claim{Spec: in.InstanceSpecifier, Member: member, Slot: true})
	if err != nil {
		return fine(err)
	}
	f := Finish{Spec: in.InstanceSpecifier, State: proto.InstanceSucceeded}
	if in.Recurring {
		f.Next = next()
	}
	err = s.FinishInstance(t.Context(), f)
	if errors.Is(err, ErrStaleApp) { // deleted meanwhile
		f.Next = nil
		err = s.FinishInstance(t.Context(), f)
	}
	return err // who has claimed it must be able to end it
}

// TestTwoUpstreamAppsEndAtOnceOnTwoNodes of a cluster, where rows are not locked
// across nodes.
func TestTwoUpstreamAppsEndAtOnceOnTwoNodes(t *testing.T) {
	t.Parallel()
	if os.Getenv(databasetest.GaleraEnv) != "on" {
		return // said by TestMain
	}
	name, err := databasetest.Cluster.NewDatabase(t.Context())
	must(t, err)
	c := databasetest.NewClock()
	stores := make([]*Store, 2)
	for i := range stores {
		stores[i] = openStore(t, database.Config{MySQLDSN: databasetest.Cluster.Node(i).DSN(name), Now: c.Now, MaxOpenConns: 8, Tries: 100, RetryWait: 20 * time.Millisecond})
	}
	endAtOnce(t, &fixture{Store: stores[0], clock: c}, stores[0], stores[1])
}
