package request

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

func TestCreateStoresAPendingRequest(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		r, err := m.Create(w.t.Context(), proto.CreateRequest{Type: "deploy", Args: proto.Values{"host": "db7"}, User: "mallory"}, "ann", "")
		must(w.t, err)
		if r.State != proto.StatePending || r.User != "ann" || r.TotalJobs != 2 || r.CreatedAt.IsZero() || r.Args[0].Value != "db7" || r.JobChain != nil {
			w.t.Errorf("created %+v", r)
		}
		got, err := m.GetWithJC(w.t.Context(), r.ID)
		must(w.t, err)
		if len(got.JobChain.Jobs) != 2 || got.JobChain.State != proto.StatePending || got.Args[0].Value != "db7" {
			w.t.Errorf("got %+v", got)
		}
	})
}

func TestCreateRefusesMistakesAndStoresNothing(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager(func(c *Config) { c.MaxArgsSize = 100 })
		w.run(m)
		for _, c := range []struct {
			name string
			req  proto.CreateRequest
			user string
			code proto.Code
			says string
		}{
			{"unknown type", proto.CreateRequest{Type: "deplo"}, "ann", proto.CodeInvalid, "deplo"},
			{"unknown arg", proto.CreateRequest{Type: "deploy", Args: proto.Values{"hots": "x"}}, "ann", proto.CodeInvalid, "hots"},
			{"missing arg", proto.CreateRequest{Type: "login", Args: proto.Values{"user": "x"}}, "ann", proto.CodeInvalid, "password"},
			{"args too large", proto.CreateRequest{Type: "deploy", Args: proto.Values{"host": strings.Repeat("x", 100)}}, "ann", proto.CodeTooLarge, "limits.args"},
			{"user too long", proto.CreateRequest{Type: "deploy"}, strings.Repeat("u", 101), proto.CodeInvalid, "user"},
		} {
			_, err := m.Create(w.t.Context(), c.req, c.user, "")
			if proto.ErrorCode(err) != c.code || !strings.Contains(err.Error(), c.says) {
				w.t.Errorf("%s: error %v", c.name, err)
			}
		}
		all, err := m.Find(w.t.Context(), proto.RequestFilter{})
		must(w.t, err)
		if len(all) != 0 {
			w.t.Errorf("%d requests were stored", len(all))
		}
	})
}

// Every call of the clock gives another time, and a transaction has one time: the
// times tell the transactions.
func TestCallersShareTransactions(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, specs: specs(t)}
		var ticks atomic.Int64
		base := time.Now()
		db, err := database.Open(t.Context(), database.Config{
			SQLitePath: filepath.Join(t.TempDir(), "treadle.db"),
			Now:        func() time.Time { return base.Add(time.Duration(ticks.Add(1)) * time.Millisecond) },
		})
		must(t, err)
		defer func() { must(t, db.Close()) }()
		must(t, db.Migrate(t.Context()))
		w.store = store.New(db)
		m := w.manager()
		var (
			callers sync.WaitGroup
			mu      sync.Mutex
			times   = map[time.Time]int{}
		)
		for i := range 32 {
			callers.Go(func() {
				user := "ann"
				if i == 13 {
					user = strings.Repeat("u", 101) // cannot be stored
				}
				r, err := m.Create(t.Context(), proto.CreateRequest{Type: "deploy"}, user, "")
				mu.Lock()
				defer mu.Unlock()
				if (err != nil) != (i == 13) {
					t.Errorf("caller %d: %v", i, err)
				}
				if err == nil {
					times[r.CreatedAt]++
				}
			})
		}
		// A second round without a bad one, to be stored in one go.
		synctest.Wait() // all wait for the creator
		ctx, cancel := context.WithCancel(t.Context())
		var creator sync.WaitGroup
		creator.Go(func() { m.creator.run(ctx) })
		callers.Wait()
		cancel()
		creator.Wait()
		if len(times) != 31 { // the batch fell apart into single ones
			t.Errorf("%d transactions after the one that failed, want 31", len(times))
		}

		m = w.manager()
		clear(times)
		for range 32 {
			callers.Go(func() {
				r, err := m.Create(t.Context(), proto.CreateRequest{Type: "deploy"}, "ann", "")
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
				}
				times[r.CreatedAt]++
			})
		}
		synctest.Wait()
		ctx, cancel = context.WithCancel(t.Context())
		creator.Go(func() { m.creator.run(ctx) })
		callers.Wait()
		cancel()
		creator.Wait()
		if len(times) != 1 {
			t.Errorf("32 callers took %d transactions, want 1", len(times))
		}
	})
}

func TestIdempotency(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		deploy := func(host string) proto.CreateRequest {
			return proto.CreateRequest{Type: "deploy", Args: proto.Values{"host": host}}
		}
		first, err := m.Create(w.t.Context(), deploy("web1"), "ann", "key-1")
		must(w.t, err)
		for _, c := range []struct {
			name string
			req  proto.CreateRequest
			user string
			key  string
			same bool
			code proto.Code
		}{
			{name: "same key and body", req: deploy("web1"), user: "ann", key: "key-1", same: true},
			{name: "other args", req: deploy("web2"), user: "ann", key: "key-1", code: proto.CodeConflict},
			{name: "no args", req: proto.CreateRequest{Type: "deploy"}, user: "ann", key: "key-1", code: proto.CodeConflict},
			{name: "other type", req: proto.CreateRequest{Type: "charge"}, user: "ann", key: "key-1", code: proto.CodeConflict},
			{name: "a body that is no longer valid", req: proto.CreateRequest{Type: "gone"}, user: "ann", key: "key-1", code: proto.CodeConflict},
			{name: "other user", req: deploy("web1"), user: "bob", key: "key-1"},
			{name: "other key", req: deploy("web1"), user: "ann", key: "key-2"},
			{name: "no key", req: deploy("web1"), user: "ann"},
		} {
			r, err := m.Create(w.t.Context(), c.req, c.user, c.key)
			if c.code != "" {
				if proto.ErrorCode(err) != c.code {
					w.t.Errorf("%s: error %v, want %s", c.name, err, c.code)
				}
				continue
			}
			must(w.t, err)
			if (r.ID == first.ID) != c.same {
				w.t.Errorf("%s: request %s, the first was %s", c.name, r.ID, first.ID)
			}
		}
		a, err := m.Create(w.t.Context(), proto.CreateRequest{Type: "deploy"}, "ann", "key-3")
		must(w.t, err)
		b, err := m.Create(w.t.Context(), proto.CreateRequest{Type: "deploy", Args: proto.Values{}}, "ann", "key-3")
		if err != nil || a.ID != b.ID {
			w.t.Errorf("no args and empty args are different bodies: %v", err)
		}
	})
}

func TestOneKeyOfManyCallersIsOneRequest(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		var (
			callers sync.WaitGroup
			mu      sync.Mutex
			ids     = map[string]int{}
		)
		for range 20 {
			callers.Go(func() {
				r, err := m.Create(w.t.Context(), proto.CreateRequest{Type: "deploy"}, "ann", "key")
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					w.t.Errorf("create: %v", err)
				}
				ids[r.ID]++
			})
		}
		for i := range 10 { // of others, in the same transactions
			callers.Go(func() {
				if _, err := m.Create(w.t.Context(), proto.CreateRequest{Type: "deploy"}, "ann", fmt.Sprint("other", i)); err != nil {
					w.t.Errorf("create: %v", err)
				}
			})
		}
		synctest.Wait() // all are in one batch
		w.run(m)
		callers.Wait()
		if len(ids) != 1 {
			w.t.Errorf("one key made %d requests: %v", len(ids), ids)
		}
		all, err := m.Find(w.t.Context(), proto.RequestFilter{})
		must(w.t, err)
		if len(all) != 11 {
			w.t.Errorf("%d requests are stored, want 11", len(all))
		}
	})
}

func TestCreateDoesNotWaitForAManagerThatHasEnded(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		waiting := make(chan error, 1)
		stop := w.run(m)
		stop()
		go func() {
			_, err := m.Create(context.WithoutCancel(w.t.Context()), proto.CreateRequest{Type: "deploy"}, "ann", "")
			waiting <- err
		}()
		errorCode(w.t, <-waiting, proto.CodeUnavailable)
	})
}

func TestCreateGivesUpWithItsCaller(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager() // does not run: nobody stores
		ctx, cancel := context.WithTimeout(w.t.Context(), time.Second)
		defer cancel()
		_, err := m.Create(ctx, proto.CreateRequest{Type: "deploy"}, "ann", "")
		errorCode(w.t, err, proto.CodeUnavailable)
	})
}
