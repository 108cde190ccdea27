package store

import (
	"fmt"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/treadle-run/treadle/internal/database/databasetest"
	"github.com/treadle-run/treadle/proto"
)

// benchApps stores that many apps, of which the first are due now and the others in
// an hour.
func benchApps(b *testing.B, s *Store, apps, due int) {
	b.Helper()
	now, err := s.Now(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	puts := make([]AppPut, apps)
	for i := range puts {
		start := now.Add(time.Hour)
		if i < due {
			start = now.Add(-time.Second)
		}
		name := fmt.Sprintf("app-%06d", i)
		puts[i] = AppPut{App: proto.App{Name: name, Request: "noop", Starts: "hourly"}, Source: proto.AppFromAPI, Since: start,
			First: &NewInstance{Name: name, PeriodStart: start, PeriodEnd: start.Add(time.Hour), Due: start}}
	}
	if n, err := s.PutApps(b.Context(), puts); err != nil || n != apps {
		b.Fatal(n, err)
	}
}

// BenchmarkDueInstances is one look of a member among 100,000 apps.
func BenchmarkDueInstances(b *testing.B) {
	for _, due := range []int{0, 10_000} {
		b.Run(fmt.Sprintf("due=%d", due), func(b *testing.B) {
			s := openStore(b, databasetest.BenchConfig(b))
			benchApps(b, s, 100_000, due)
			for b.Loop() {
				list, _, err := s.DueInstances(b.Context(), []BucketRange{{0, Buckets}}, time.Second, 1000)
				if err != nil || len(list) != min(due, 1000) {
					b.Fatal(len(list), err)
				}
			}
		})
	}
}

// BenchmarkInstances takes instances through claim, park, claim and finish, as 16
// workers do. One op is one instance.
func BenchmarkInstances(b *testing.B) {
	s := openStore(b, databasetest.BenchConfig(b))
	benchApps(b, s, 2000, 2000)
	list, _, err := s.DueInstances(b.Context(), []BucketRange{{0, Buckets}}, 0, 2000)
	if err != nil || len(list) != 2000 {
		b.Fatal(len(list), err)
	}
	b.ResetTimer()
	for done := 0; done < b.N; {
		n := min(len(list), b.N-done)
		var g errgroup.Group
		g.SetLimit(16)
		for i := range list[:n] {
			g.Go(func() error { return liveInstance(b, s, &list[i].Instance) })
		}
		if err := g.Wait(); err != nil {
			b.Fatal(err)
		}
		done += n
	}
}

// liveInstance takes an instance to its end, and sets in to the next one.
func liveInstance(b *testing.B, s *Store, in *proto.Instance) error {
	got, err := s.ClaimInstance(b.Context(), Claim{Spec: in.InstanceSpecifier, Member: "m1", Slot: true, Generation: 1})
	if err != nil {
		return err
	}
	spec, err := s.ParkInstance(b.Context(), got.InstanceSpecifier, Park{CheckAfter: time.Minute, RequestID: "r", WaitsFor: "r"})
	if err != nil {
		return err
	}
	if got, err = s.ClaimInstance(b.Context(), Claim{Spec: spec, Member: "m1", Generation: 1}); err != nil {
		return err
	}
	start := in.PeriodStart.Add(time.Hour)
	*in = proto.Instance{InstanceSpecifier: proto.InstanceSpecifier{App: in.App, Number: in.Number + 1, Sequence: 1}, PeriodStart: start}
	return s.FinishInstance(b.Context(), Finish{Spec: got.InstanceSpecifier, State: proto.InstanceSucceeded, Generation: 1,
		Next: &NewInstance{Name: in.App, PeriodStart: start, PeriodEnd: start.Add(time.Hour), Due: start}})
}

// BenchmarkAppsWithoutNext looks at 100,000 apps, as one member does now and then.
func BenchmarkAppsWithoutNext(b *testing.B) {
	s := openStore(b, databasetest.BenchConfig(b))
	benchApps(b, s, 100_000, 0)
	for b.Loop() {
		list, err := s.AppsWithoutNext(b.Context(), 100)
		if err != nil || len(list) != 0 {
			b.Fatal(list, err)
		}
	}
}
