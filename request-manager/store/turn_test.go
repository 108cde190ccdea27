package store

import (
	"context"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// With one writer, what keeps a runner alive must not wait for all that is to be
// written: a manager with much to do would take its runners for dead, and have more.
func TestHeartbeatsWaitForOneTransactionAndNotForAll(t *testing.T) {
	t.Parallel()
	s := openStore(t, database.Config{SQLitePath: filepath.Join(t.TempDir(), "treadle.db")})

	var (
		calls sync.WaitGroup
		mu    sync.Mutex
		done  []string
	)
	ended := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		done = append(done, what)
	}
	begun, release := make(chan struct{}), make(chan struct{})
	calls.Go(func() {
		err := s.db.InTx(t.Context(), "the first", func(context.Context, *database.Tx) error {
			close(begun)
			<-release
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	<-begun
	const many = 30
	var asked sync.WaitGroup
	for range many {
		asked.Add(1)
		calls.Go(func() {
			asked.Done()
			err := s.db.InTx(t.Context(), "one of many", func(ctx context.Context, t *database.Tx) error {
				_, err := s.db.Query("UPDATE job_runners SET running = running + 1").Exec(ctx, t)
				return err
			})
			if err != nil {
				t.Error(err)
			}
			ended("transaction")
		})
	}
	asked.Wait()
	calls.Go(func() {
		if _, err := s.Heartbeat(t.Context(), proto.Runner{ID: "jr-1", URL: "http://jr-1"}); err != nil {
			t.Error(err)
		}
		ended("heartbeat")
	})
	for s.db.Writer.Stats().WaitCount == 0 { // the heartbeat has asked for the connection
		runtime.Gosched()
	}
	close(release)
	calls.Wait()
	for i, what := range done {
		if what == "heartbeat" && i > many/2 {
			t.Errorf("the heartbeat came after %d of %d transactions that began to wait before it", i, many)
		}
	}
}
