package store

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/treadle-run/treadle/proto"
)

func TestTwoManagersClaimEachChainOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		const chains = 200
		f.suspendMany(t, chains)
		other := &fixture{Store: openStore(t, f.cfg)}
		var mu sync.Mutex
		claimed := map[string]string{}
		claim := func(s *Store, host string) error {
			found, err := s.UnclaimedSJCs(t.Context(), time.Hour, chains)
			if err != nil {
				return err
			}
			for _, u := range found {
				id := u.RequestID
				_, err := s.ClaimSJC(t.Context(), id, host)
				if errors.Is(err, ErrNotUpdated) {
					continue
				}
				if err != nil {
					return err
				}
				mu.Lock()
				if by, ok := claimed[id]; ok {
					t.Errorf("%s was claimed by %s and by %s", id, by, host)
				}
				claimed[id] = host
				mu.Unlock()
			}
			return nil
		}
		var g errgroup.Group
		for i, s := range []*Store{f.Store, other.Store, f.Store, other.Store} {
			g.Go(func() error { return claim(s, fmt.Sprintf("rm-%d", i)) })
		}
		must(t, g.Wait())
		if len(claimed) != chains {
			t.Errorf("%d chains claimed, want %d", len(claimed), chains)
		}
	})
}

// suspendMany makes SUSPENDED requests in a few transactions.
func (f *fixture) suspendMany(t *testing.T, n int) []string {
	t.Helper()
	ids := f.runMany(t, n)
	items := make([]proto.ReportItem, n)
	for i, id := range ids {
		items[i] = proto.ReportItem{RequestID: id, Epoch: 1, Suspended: &proto.SuspendedJobChain{RequestID: id}}
	}
	f.report(t, items...)
	return ids
}

// runMany makes RUNNING requests in a few transactions.
func (f *fixture) runMany(t *testing.T, n int) []string {
	t.Helper()
	reqs, ids, hands := make([]NewRequest, n), make([]string, n), make([]Handover, n)
	for i := range reqs {
		ids[i] = newID()
		reqs[i], hands[i] = newRequest(ids[i]), Handover{RequestID: ids[i]}
	}
	must(t, f.CreateRequests(t.Context(), reqs))
	taken, err := f.Dispatch(t.Context(), hands, "jr-1", "http://jr-1")
	must(t, err)
	if len(taken) != n {
		t.Fatalf("dispatched %d of %d", len(taken), n)
	}
	return ids
}

func TestManagersDispatchEachRequestOnce(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		const requests = 200
		reqs := make([]NewRequest, requests)
		for i := range reqs {
			reqs[i] = newRequest(newID())
		}
		must(t, f.CreateRequests(t.Context(), reqs))
		var mu sync.Mutex
		seen := map[string]int{}
		var g errgroup.Group
		for range 4 {
			g.Go(func() error {
				order := rand.Perm(requests)
				for len(order) > 0 {
					n := min(len(order), 1+rand.IntN(40))
					var hands []Handover
					for _, i := range order[:n] {
						hands = append(hands, Handover{RequestID: reqs[i].Request.ID})
					}
					order = order[n:]
					taken, err := f.Dispatch(t.Context(), hands, "jr-1", "http://jr-1")
					if err != nil {
						return err
					}
					mu.Lock()
					for _, id := range taken {
						seen[id]++
					}
					mu.Unlock()
				}
				return nil
			})
		}
		must(t, g.Wait())
		for id, n := range seen {
			if n != 1 {
				t.Errorf("%s was dispatched %d times", id, n)
			}
		}
		if len(seen) != requests {
			t.Errorf("%d requests dispatched, want %d", len(seen), requests)
		}
	})
}

// TestReportsInAnyOrder sends the same entries in parallel, in batches that
// overlap in all orders, while users stop requests.
func TestReportsInAnyOrder(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		const requests, senders = 40, 8
		ids := f.runMany(t, requests)
		var g errgroup.Group
		for range senders {
			g.Go(func() error {
				order := rand.Perm(requests)
				for len(order) > 0 {
					n := min(len(order), 1+rand.IntN(20))
					var items []proto.ReportItem
					for _, i := range order[:n] {
						it := proto.ReportItem{RequestID: ids[i], Epoch: 1, FinishedJobs: 2,
							Entries: []proto.JobLog{entry(ids[i], 0, "a"), entry(ids[i], 1, "b")}}
						if i%2 == 0 {
							it.Final = proto.StateComplete
						}
						items = append(items, it)
					}
					order = order[n:]
					refused, err := f.SaveReport(t.Context(), items)
					if err != nil {
						return err
					}
					if len(refused) > 0 {
						return fmt.Errorf("refused %+v", refused)
					}
				}
				return nil
			})
		}
		g.Go(func() error {
			for _, i := range rand.Perm(requests) {
				if _, err := f.Stop(t.Context(), ids[i]); err != nil && !errors.Is(err, ErrNotUpdated) {
					return err
				}
			}
			return nil
		})
		must(t, g.Wait())
		for i, id := range ids {
			r := f.request(t, id)
			if ended := i%2 == 0; ended != r.State.Final() || r.FinishedJobs != 2 {
				t.Errorf("request %d is %s with %d jobs finished", i, r.State, r.FinishedJobs)
			}
			if n := f.count(t, "job_log WHERE request_id = ?", id); n != 2 {
				t.Errorf("request %d has %d entries, want 2", i, n)
			}
		}
	})
}

func TestParallelAppends(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		id := f.running(t)
		const entries = 40
		var g errgroup.Group
		g.SetLimit(8)
		for i := range entries {
			g.Go(func() error { return f.AppendLog(t.Context(), 1, entry(id, 0, fmt.Sprintf("j%d", i))) })
		}
		must(t, g.Wait())
		log, err := f.JobLog(t.Context(), id)
		must(t, err)
		for i, e := range log {
			if e.Seq != uint64(i) {
				t.Errorf("entry %d has seq %d", i, e.Seq)
			}
		}
		if len(log) != entries {
			t.Errorf("%d entries, want %d", len(log), entries)
		}
	})
}

func TestTheSameKeyFromManyCallers(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		var mu sync.Mutex
		created := 0
		var g errgroup.Group
		for range 12 {
			g.Go(func() error {
				n := newRequest(newID())
				n.IdempotencyKey = "k"
				err := f.CreateRequests(t.Context(), []NewRequest{newRequest(newID()), n})
				if _, ok := errors.AsType[*KeyTakenError](err); ok {
					return nil
				}
				mu.Lock()
				created++
				mu.Unlock()
				return err
			})
		}
		must(t, g.Wait())
		if n := f.count(t, "requests"); created != 1 || n != 2 {
			t.Errorf("%d calls created, %d requests: want 1 and 2", created, n)
		}
	})
}
