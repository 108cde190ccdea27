package store

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/internal/database/databasetest"
	"github.com/treadle-run/treadle/proto"
)

// BenchmarkRequests takes requests of three jobs through create, dispatch and
// three reports, in batches as a busy system has them. One op is one request.
func BenchmarkRequests(b *testing.B) {
	for _, batch := range []int{1, 8, 32, 128} {
		b.Run(fmt.Sprintf("batch=%d", batch), func(b *testing.B) {
			s := openStore(b, databasetest.BenchConfig(b))
			var g errgroup.Group
			g.SetLimit(4)
			b.ResetTimer()
			for left := b.N; left > 0; left -= batch {
				g.Go(func() error { return requestsThrough(b, s, min(left, batch)) })
			}
			if err := g.Wait(); err != nil {
				b.Fatal(err)
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}

func requestsThrough(b *testing.B, s *Store, n int) error {
	reqs, hands, items := make([]NewRequest, n), make([]Handover, n), make([]proto.ReportItem, n)
	for i := range reqs {
		id := newID()
		reqs[i] = newRequest(id)
		reqs[i].ArgValues = proto.Values{"host": "db-1"}
		hands[i] = Handover{RequestID: id}
		items[i] = proto.ReportItem{RequestID: id, Epoch: 1}
	}
	if err := s.CreateRequests(b.Context(), reqs); err != nil {
		return err
	}
	taken, err := s.Dispatch(b.Context(), hands, "jr-1", "http://jr-1")
	if err != nil || len(taken) != n {
		return fmt.Errorf("dispatched %d: %w", len(taken), err)
	}
	for seq := range uint64(3) {
		for i := range items {
			items[i].Entries = []proto.JobLog{entry(items[i].RequestID, seq, fmt.Sprintf("job%d", seq))}
			items[i].FinishedJobs++
			if seq == 2 {
				items[i].Final = proto.StateComplete
			}
		}
		refused, err := s.SaveReport(b.Context(), items)
		if err != nil || len(refused) > 0 {
			return fmt.Errorf("refused %v: %w", refused, err)
		}
	}
	return nil
}

// BenchmarkLists reads lists from a million requests that have ended. The
// metric is the median in milliseconds.
func BenchmarkLists(b *testing.B) {
	s := openStore(b, databasetest.BenchConfig(b))
	const rows = 1_000_000
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	fillBench(b, s, rows, start)
	at := func(i int) time.Time { return start.Add(time.Duration(i) * time.Millisecond) }
	for _, bm := range []struct {
		name string
		f    proto.RequestFilter
	}{
		{"all", proto.RequestFilter{}},
		{"type", proto.RequestFilter{Type: "type-3"}},
		{"user", proto.RequestFilter{User: "user-7"}},
		{"state", proto.RequestFilter{States: []proto.State{proto.StateComplete}}},
		{"state-none", proto.RequestFilter{States: []proto.State{proto.StateRunning}}},
		{"states", proto.RequestFilter{States: []proto.State{proto.StateRunning, proto.StateFail, proto.StateComplete}}},
		{"arg-common", proto.RequestFilter{Args: map[string]string{"env": "prod"}}},
		{"arg-rare", proto.RequestFilter{Args: map[string]string{"host": "host-123456"}}},
		{"args", proto.RequestFilter{Args: map[string]string{"host": "host-123456", "env": "prod"}}},
		{"since-middle", proto.RequestFilter{Since: at(rows / 2)}},
		{"since-end", proto.RequestFilter{Since: at(rows - 10)}},
		{"until", proto.RequestFilter{Until: at(rows / 2)}},
		{"type-state", proto.RequestFilter{Type: "type-3", States: []proto.State{proto.StateFail}}},
		{"offset", proto.RequestFilter{Offset: 50_000}},
		{"offset-type", proto.RequestFilter{Type: "type-3", Offset: 50_000}},
		{"offset-states", proto.RequestFilter{States: []proto.State{proto.StateFail, proto.StateComplete}, Offset: 50_000}},
		{"offset-arg", proto.RequestFilter{Args: map[string]string{"env": "prod"}, Offset: 50_000}},
		{"offset-since", proto.RequestFilter{Since: at(rows / 2), Offset: 50_000}},
	} {
		bm.f.Limit = 50
		b.Run(bm.name, func(b *testing.B) {
			var took []time.Duration
			for b.Loop() {
				t := time.Now()
				if _, err := s.FindRequests(b.Context(), bm.f); err != nil {
					b.Fatal(err)
				}
				took = append(took, time.Since(t))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
		})
	}
}

// fillBench stores requests that were created a millisecond apart and took 5
// seconds each.
func fillBench(b *testing.B, s *Store, rows int, start time.Time) {
	b.Helper()
	const chunk = 5000
	for from := 0; from < rows; from += chunk {
		requests, args := make([][]any, 0, chunk), make([][]any, 0, 2*chunk)
		for i := from; i < min(from+chunk, rows); i++ {
			id := newID()
			created := start.Add(time.Duration(i) * time.Millisecond).UnixMicro()
			state := proto.StateComplete
			if i%50 == 0 {
				state = proto.StateFail
			}
			requests = append(requests, []any{id, fmt.Sprintf("type-%d", i%10), fmt.Sprintf("user-%d", i%20), state,
				1, created, created, created + 5_000_000, created, 3, 3, "", "[]"})
			args = append(args, []any{id, "env", valueHash("prod"), created},
				[]any{id, "host", valueHash(fmt.Sprintf("host-%d", i)), created})
		}
		err := s.db.InTx(b.Context(), "fill", func(ctx context.Context, t *database.Tx) error {
			if err := s.db.InsertRows(ctx, t, `INSERT INTO requests (request_id, type, user, state, epoch, created_at, started_at,
				finished_at, updated_at, total_jobs, finished_jobs, reason, args) VALUES`, requests); err != nil {
				return err
			}
			return s.db.InsertRows(ctx, t, "INSERT INTO request_args (request_id, name, value_hash, created_at) VALUES", args)
		})
		if err != nil {
			b.Fatal(err)
		}
	}
}
