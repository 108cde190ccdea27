package store

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/internal/database/databasetest"
	"github.com/treadle-run/treadle/proto"
)

// Two managers on two nodes of a cluster want the same requests at the same time:
// each is created, handed over, claimed and ended once, and what one of them was told
// is durable the other one sees.
func TestTwoNodesOfACluster(t *testing.T) {
	t.Parallel()
	if os.Getenv(databasetest.GaleraEnv) != "on" {
		return // said by TestMain
	}
	name, err := databasetest.Cluster.NewDatabase(t.Context())
	must(t, err)
	stores := make([]*Store, databasetest.Cluster.Size())
	var migrations errgroup.Group
	for i := range stores {
		db, err := database.Open(t.Context(), database.Config{MySQLDSN: databasetest.Cluster.Node(i).DSN(name), Tries: 100, RetryWait: 20 * time.Millisecond, MaxOpenConns: 8})
		must(t, err)
		t.Cleanup(func() { must(t, db.Close()) })
		migrations.Go(func() error { return db.Migrate(t.Context()) })
		stores[i] = New(db)
	}
	must(t, migrations.Wait())
	_, err = stores[0].Heartbeat(t.Context(), proto.Runner{ID: "jr-1", URL: "http://jr-1"})
	must(t, err)

	var (
		mu    sync.Mutex
		count = map[string]int{} // what was done, by request
		did   = func(what, id string) {
			mu.Lock()
			defer mu.Unlock()
			count[what+" "+id]++
		}
	)
	var g errgroup.Group
	const workers, rounds = 4, 25
	for w := range workers {
		for r := range rounds {
			key := fmt.Sprintf("%d/%d", w, r)
			start := make(chan struct{})
			for _, s := range stores[:2] {
				g.Go(func() error {
					<-start
					return liveThrough(t, s, key, did)
				})
			}
			close(start)
			if r%5 == 4 {
				must(t, g.Wait())
			}
		}
	}
	must(t, g.Wait())
	must(t, err)
	for what, n := range count {
		if n != 1 {
			t.Errorf("%s: %d times, want once", what, n)
		}
	}
	third := &fixture{Store: stores[2]}
	if n := third.count(t, "requests WHERE state = ?", proto.StateComplete); n != workers*rounds || len(count) != 4*workers*rounds {
		t.Errorf("%d requests are COMPLETE, and %d things were done once; want %d, and four times that", n, len(count), workers*rounds)
	}
	if found := third.check(t, checkLimits); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

// liveThrough takes the request with the key through its life, beside others that do
// the same.
func liveThrough(t *testing.T, s *Store, key string, did func(what, id string)) error {
	ctx := t.Context()
	n := newRequest(newID())
	n.IdempotencyKey, n.BodyHash = key, []byte{1}
	id := n.Request.ID
	err := s.CreateRequests(ctx, []NewRequest{n})
	if _, ok := errors.AsType[*KeyTakenError](err); ok {
		if id, _, err = s.RequestByKey(ctx, n.Request.User, key); err != nil {
			return fmt.Errorf("a key is taken and nobody has it: %w", err)
		}
	} else if err != nil {
		return err
	} else {
		did("created", id)
	}
	taken, err := s.Dispatch(ctx, []Handover{{RequestID: id}}, "jr-1", "http://jr-1")
	if err != nil {
		return err
	}
	if len(taken) == 1 {
		did("dispatched", id)
	}
	// The other one may be further.
	refused, err := s.SaveReport(ctx, []proto.ReportItem{{
		RequestID: id, Epoch: 1, FinishedJobs: 1, Suspended: &proto.SuspendedJobChain{RequestID: id, JobChain: &proto.JobChain{}},
		Entries: []proto.JobLog{entry(id, 0, "a")},
	}})
	if err != nil {
		return err
	}
	if len(taken) == 1 && len(refused) > 0 {
		// It was there a moment ago: only who has resumed it may have changed it.
		if r, err := s.Request(ctx, id); err != nil || r.Epoch < 2 {
			return fmt.Errorf("report refused under epoch 1: %s; request %+v (%w)", refused[0].Message, r, err)
		}
	}
	host := "rm-" + newID()
	sjc, err := s.ClaimSJC(ctx, id, host)
	if errors.Is(err, ErrNotUpdated) {
		return nil // the other one goes on with it
	}
	if err != nil {
		return err
	}
	did("claimed", id)
	if err := s.Resume(ctx, id, sjc.Epoch, host, "jr-1", "http://jr-1"); err != nil {
		return err
	}
	refused, err = s.SaveReport(ctx, []proto.ReportItem{{
		RequestID: id, Epoch: sjc.Epoch + 1, FinishedJobs: 3, Final: proto.StateComplete,
		Entries: []proto.JobLog{under(2, entry(id, 1, "b")), under(2, entry(id, 2, "c"))},
	}})
	if err != nil || len(refused) > 0 {
		return fmt.Errorf("refused %+v (%w)", refused, err)
	}
	did("ended", id)
	return nil
}

func under(epoch uint64, e proto.JobLog) proto.JobLog {
	e.Epoch = epoch
	return e
}

// What was committed on one node is there for a manager on any other.
func TestNodesSeeWhatOthersCommitted(t *testing.T) {
	t.Parallel()
	if os.Getenv(databasetest.GaleraEnv) != "on" {
		return // said by TestMain
	}
	name, err := databasetest.Cluster.NewDatabase(t.Context())
	must(t, err)
	stores := make([]*Store, databasetest.Cluster.Size())
	for i := range stores {
		stores[i] = openStore(t, database.Config{MySQLDSN: databasetest.Cluster.Node(i).DSN(name), MaxOpenConns: 2})
	}
	for i := range 100 {
		at := func(k int) *Store { return stores[(i+k)%len(stores)] }
		id := newID()
		must(t, at(0).CreateRequests(t.Context(), []NewRequest{newRequest(id)}))
		taken, err := at(1).Dispatch(t.Context(), []Handover{{RequestID: id}}, "jr-1", "http://jr-1")
		must(t, err)
		if len(taken) != 1 {
			t.Fatalf("round %d: created on one node, and not there for another", i)
		}
		refused, err := at(2).SaveReport(t.Context(), []proto.ReportItem{{RequestID: id, Epoch: 1, Final: proto.StateFail}})
		must(t, err)
		if len(refused) > 0 {
			t.Fatalf("round %d: handed over on one node, and refused by another: %s", i, refused[0].Message)
		}
		if r, err := at(0).Request(t.Context(), id); err != nil || r.State != proto.StateFail {
			t.Fatalf("round %d: ended on one node, and %s on another (%v)", i, r.State, err)
		}
	}
}
