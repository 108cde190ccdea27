package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// Heartbeat records what a runner says of itself, registering it if it is new,
// and returns whether an operator asked it to drain. StartedAt and HeartbeatAt
// are set here, by the database's clock. For a runner that was removed the error is
// ErrRunnerGone.
func (s *Store) Heartbeat(ctx context.Context, r proto.Runner) (drain bool, err error) {
	labels, err := json.Marshal(r.Labels)
	if err != nil {
		return false, fmt.Errorf("heartbeat of runner %s: %w", r.ID, err)
	}
	err = s.db.Do(ctx, "heartbeat of runner "+r.ID, func(ctx context.Context) error {
		n, err := s.db.Query(`UPDATE job_runners SET url = ?, host = ?, pid = ?, version = ?, labels = ?,
			capacity = ?, running = ?, draining = ?, heartbeat_at = {now} WHERE runner_id = ? AND gone_at IS NULL`,
			r.URL, r.Host, r.PID, r.Version, string(labels), r.Capacity, len(r.Running), r.Draining, r.ID).Exec(ctx, s.db.Writer)
		if err != nil {
			return err
		}
		if n == 0 {
			drain, err = s.register(ctx, r, string(labels))
			return err
		}
		err = s.db.Query("SELECT drain_requested FROM job_runners WHERE runner_id = ?", r.ID).Row(ctx, s.db.Writer, &drain)
		return err
	})
	return drain, err
}

// register adds a runner. A process that comes back under another ID, which is its
// first one with a dot and a number, stays asked to drain.
func (s *Store) register(ctx context.Context, r proto.Runner, labels string) (drain bool, err error) {
	if process, _, again := strings.Cut(r.ID, "."); again {
		err = s.db.Query(`SELECT drain_requested FROM job_runners WHERE runner_id = ? OR runner_id LIKE ?
			ORDER BY started_at DESC LIMIT 1`,
			process, process+".%").Row(ctx, s.db.Writer, &drain)
		if err != nil && !errors.Is(err, ErrNotFound) {
			return false, err
		}
	}
	_, err = s.db.Query(`INSERT INTO job_runners (runner_id, url, host, pid, version, labels, capacity, running,
		draining, drain_requested, started_at, heartbeat_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, {now}, {now})`,
		r.ID, r.URL, r.Host, r.PID, r.Version, labels, r.Capacity, len(r.Running), r.Draining, drain).Exec(ctx, s.db.Writer)
	if err == nil || s.db.Dialect.Classify(err) != database.ClassDuplicate {
		return drain, err
	}
	// Another of its heartbeats was quicker, or this is one of a runner that is gone.
	var gone bool
	if err := s.db.Query("SELECT gone_at IS NOT NULL FROM job_runners WHERE runner_id = ?", r.ID).Row(ctx, s.db.Writer, &gone); err != nil {
		return false, err
	}
	if gone {
		return false, fmt.Errorf("runner %s: %w", r.ID, ErrRunnerGone)
	}
	return drain, nil
}

// Runners returns all registered runners, oldest first. Running has the requests
// that are RUNNING on each by the database, and Draining is also set where an
// operator asked for it.
func (s *Store) Runners(ctx context.Context) ([]proto.Runner, error) {
	var out []proto.Runner
	err := s.db.Do(ctx, "runners", func(ctx context.Context) error {
		out = nil
		places := map[string]int{}
		err := s.db.Query(`SELECT runner_id, url, host, pid, version, labels, capacity, draining, drain_requested,
			started_at, heartbeat_at FROM job_runners WHERE gone_at IS NULL ORDER BY started_at, runner_id`).
			Rows(ctx, s.db.Reader, func(scan func(...any) error) error {
				r, err := scanRunner(scan)
				places[r.ID] = len(out)
				out = append(out, r)
				return err
			})
		if err != nil {
			return err
		}
		return s.db.Query(`SELECT runner_id, request_id, epoch FROM requests{index requests_runner}
			WHERE runner_id IS NOT NULL ORDER BY runner_id, epoch, request_id`).
			Rows(ctx, s.db.Reader, func(scan func(...any) error) error {
				var runner string
				var c proto.RunningChain
				if err := scan(&runner, &c.RequestID, &c.Epoch); err != nil {
					return err
				}
				if i, ok := places[runner]; ok {
					out[i].Running = append(out[i].Running, c)
				}
				return nil
			})
	})
	return out, err
}

func scanRunner(scan func(...any) error) (proto.Runner, error) {
	r := proto.Runner{Running: []proto.RunningChain{}}
	var labels []byte
	var drain bool
	var started, heartbeat int64
	err := scan(&r.ID, &r.URL, &r.Host, &r.PID, &r.Version, &labels, &r.Capacity, &r.Draining, &drain,
		&started, &heartbeat)
	if err != nil {
		return r, err
	}
	r.Draining = r.Draining || drain
	r.StartedAt, r.HeartbeatAt = database.FromMicros(started), database.FromMicros(heartbeat)
	if err := json.Unmarshal(labels, &r.Labels); err != nil {
		return r, fmt.Errorf("stored labels of runner %s: %w", r.ID, err)
	}
	return r, nil
}

// RunnerLoads returns how many requests are RUNNING on each runner that has some,
// by runner id. It is cheaper than Runners.
func (s *Store) RunnerLoads(ctx context.Context) (map[string]int, error) {
	out := map[string]int{}
	err := s.db.Do(ctx, "loads of runners", func(ctx context.Context) error {
		clear(out)
		return s.db.Query(`SELECT runner_id, COUNT(*) FROM requests{index requests_runner} WHERE runner_id IS NOT NULL
			GROUP BY runner_id`).
			Rows(ctx, s.db.Reader, func(scan func(...any) error) error {
				var runner string
				var n int
				err := scan(&runner, &n)
				out[runner] = n
				return err
			})
	})
	return out, err
}

// RemoveRunner removes a runner from the registry, for good: a heartbeat of it that
// comes late is refused. The error is ErrNotFound if it is not registered.
func (s *Store) RemoveRunner(ctx context.Context, id string) error {
	row := database.RowOf("SELECT change_token FROM job_runners WHERE runner_id = ?", id)
	return s.db.DoOnce(ctx, "remove runner "+id, row, func(ctx context.Context, token database.Token) error {
		n, err := s.db.Query(`UPDATE job_runners SET change_token = ?, gone_at = {now} WHERE runner_id = ? AND gone_at IS NULL`,
			token, id).Exec(ctx, s.db.Writer)
		if err == nil && n == 0 {
			return ErrNotFound
		}
		return err
	})
}

// GoneRunners returns which of the runners were removed.
func (s *Store) GoneRunners(ctx context.Context, ids []string) ([]string, error) {
	var gone []string
	err := database.Chunks(ids, func(ids []string) error {
		return s.db.Do(ctx, "runners that are gone", func(ctx context.Context) error {
			more, err := s.db.Query(`SELECT runner_id FROM job_runners WHERE gone_at IS NOT NULL AND runner_id IN {ids}`,
				ids).Strings(ctx, s.db.Reader)
			gone = append(gone, more...)
			return err
		})
	})
	return gone, err
}

// PurgeRunners forgets runners that were removed longer ago than that, and returns
// how many.
func (s *Store) PurgeRunners(ctx context.Context, age time.Duration) (int, error) {
	var n int64
	err := s.db.Do(ctx, "purge runners", func(ctx context.Context) error {
		var err error
		n, err = s.db.Query("DELETE FROM job_runners WHERE gone_at < {now} - ?", age.Microseconds()).Exec(ctx, s.db.Writer)
		return err
	})
	return int(n), err
}

// RequestDrain asks the runners with that id or base URL to drain, or no longer
// to; ErrNotFound if there is none.
func (s *Store) RequestDrain(ctx context.Context, idOrURL string, drain bool) error {
	return s.db.Do(ctx, "drain runner "+idOrURL, func(ctx context.Context) error {
		n, err := s.db.Query(`UPDATE job_runners SET drain_requested = ?
			WHERE (runner_id = ? OR url = ?) AND gone_at IS NULL`,
			drain, idOrURL, idOrURL).Exec(ctx, s.db.Writer)
		if err == nil && n == 0 {
			return ErrNotFound
		}
		return err
	})
}

// Held is a request that is RUNNING on a runner.
type Held struct {
	RequestID     string
	Epoch         uint64
	StopRequested bool
	Since         time.Time // of the last hand-over
	RunnerID, URL string
	TotalJobs     uint
}

// HeldBy returns the requests that are RUNNING on the runner.
func (s *Store) HeldBy(ctx context.Context, runnerID string) ([]Held, error) {
	return s.held(ctx, "requests of runner "+runnerID, s.db.Query("SELECT "+heldColumns+` FROM requests{index requests_runner}
		WHERE runner_id = ? AND +state = ?`,
		runnerID, proto.StateRunning))
}

const heldColumns = "request_id, epoch, stop_requested_at IS NOT NULL, handover_at, runner_id, jr_url, total_jobs"

func (s *Store) held(ctx context.Context, op string, q *database.Query) ([]Held, error) {
	var out []Held
	err := s.db.Do(ctx, op, func(ctx context.Context) error {
		out = nil
		return q.Rows(ctx, s.db.Reader, func(scan func(...any) error) error {
			var h Held
			var since sql.NullInt64
			var runner, url sql.NullString
			if err := scan(&h.RequestID, &h.Epoch, &h.StopRequested, &since, &runner, &url, &h.TotalJobs); err != nil {
				return err
			}
			h.Since, h.RunnerID, h.URL = database.FromMicros(since.Int64), runner.String, url.String
			out = append(out, h)
			return nil
		})
	})
	return out, err
}
