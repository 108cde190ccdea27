package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rs/xid"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// lists is W5: lists of a database with many finished requests, each by one
// filter.
func lists(ctx context.Context, o options, r *report) error {
	s, err := start(ctx, o, specsDir)
	if err != nil {
		return err
	}
	defer s.stop()
	began := time.Now()
	if err := s.fill(ctx, o.rows); err != nil {
		return err
	}
	r.row("rows", "%d finished requests of 20 types, 50 users, an arg of 1,000 values, made in %s", o.rows, time.Since(began).Round(time.Second))
	middle, err := s.createdAt(ctx, o.rows/2)
	if err != nil {
		return err
	}
	for _, c := range []struct{ name, query string }{
		{"no filter", ""},
		{"type", "&type=type-7"},
		{"user", "&user=user-7"},
		{"state", "&state=FAIL"},
		{"two states", "&state=FAIL&state=STOPPED"},
		{"states of which there are none", "&state=RUNNING&state=PENDING"},
		{"arg", "&arg=host%3Dhost-777"},
		{"arg that nothing has", "&arg=host%3Dnone"},
		{"since the middle", "&since=" + middle},
		{"since now", "&since=" + time.Now().UTC().Format(proto.TimeFormat)},
		{"until the middle", "&until=" + middle},
		{"type, user and state", "&type=type-7&user=user-7&state=COMPLETE"},
		{"offset of 50,000", "&offset=50000"},
		{"type, offset of 40,000", "&type=type-7&offset=40000"},
	} {
		q, err := s.list(ctx, c.query)
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
		r.row(c.name, "%s", q)
	}
	return nil
}

func (s *system) list(ctx context.Context, query string) (quantiles, error) {
	const warm, runs = 3, 50
	var took []time.Duration
	for i := range warm + runs {
		began := time.Now()
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/api/v1/requests?limit=50"+query, nil)
		if err != nil {
			return quantiles{}, err
		}
		resp, err := s.http.Do(req)
		if err != nil {
			return quantiles{}, err
		}
		body, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return quantiles{}, err
		}
		if resp.StatusCode != http.StatusOK {
			return quantiles{}, fmt.Errorf("%s: %.300s", resp.Status, body)
		}
		if i >= warm {
			took = append(took, time.Since(began))
		}
	}
	return quantilesOf(took), nil
}

// createdAt returns when the request at that place, from the newest, was created,
// for a query.
func (s *system) createdAt(ctx context.Context, place int) (string, error) {
	var us int64
	err := s.db.QueryRowContext(ctx, fmt.Sprintf("SELECT created_at FROM requests ORDER BY created_at DESC LIMIT 1 OFFSET %d", place)).Scan(&us)
	return url.QueryEscape(time.UnixMicro(us).UTC().Format(proto.TimeFormat)), err
}

// fill makes finished requests, a second apart, the way the manager makes them
// but for their chains.
func (s *system) fill(ctx context.Context, rows int) error {
	at := time.Now().Add(-time.Duration(rows) * time.Second)
	cfg := database.Config{Now: func() time.Time { return at }}
	if name, dsn, _ := strings.Cut(s.dbEnv, "="); name == "TREADLE_MYSQL_DSN" {
		cfg.MySQLDSN = dsn
	} else {
		cfg.SQLitePath = filepath.Join(s.dir, "treadle.db")
	}
	db, err := database.Open(ctx, cfg)
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // what counts is committed
	const batch = 500
	for i := 0; i < rows; i += batch {
		at = at.Add(batch * time.Second)
		requests := make([]store.NewRequest, 0, batch)
		for j := i; j < min(i+batch, rows); j++ {
			requests = append(requests, store.NewRequest{
				Request:   proto.Request{ID: xid.NewWithTime(at).String(), Type: fmt.Sprintf("type-%d", j%20), User: fmt.Sprintf("user-%d", j%50), TotalJobs: 3},
				ArgValues: proto.Values{"host": fmt.Sprintf("host-%d", j%1000)},
				Chain:     []byte("{}"),
			})
		}
		if err := store.New(db).CreateRequests(ctx, requests); err != nil {
			return err
		}
		if i%100_000 == 0 {
			fmt.Fprintf(os.Stderr, "load: %d of %d rows\n", i, rows)
		}
	}
	// Spread over the time of their batch, and ended: most well.
	spread := "CRC32(request_id)"
	if s.server == nil {
		spread = "rowid * 7919000"
	}
	for _, statement := range []string{
		"UPDATE requests SET created_at = created_at - (" + spread + ") % 499000000, state = 3, started_at = created_at, finished_at = created_at + 1000000, finished_jobs = 3",
		"UPDATE requests SET state = 4 WHERE user IN ('user-3', 'user-4')",
		"UPDATE requests SET state = 6 WHERE user = 'user-5'",
	} {
		if _, err := s.db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	if s.server != nil {
		_, err = s.db.ExecContext(ctx, "ANALYZE TABLE requests, request_args")
	} else {
		_, err = s.db.ExecContext(ctx, "ANALYZE")
	}
	return err
}
