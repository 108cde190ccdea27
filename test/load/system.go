package main

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	_ "modernc.org/sqlite" // to look at a SQLite database from outside

	"github.com/treadle-run/treadle/test/mariadb"
	"github.com/treadle-run/treadle/test/poll"
	"github.com/treadle-run/treadle/test/process"
)

// system is a whole Treadle: a database, a Request Manager and a Job Runner.
type system struct {
	o      options
	dir    string
	server *mariadb.Server // nil on SQLite
	dbEnv  string          // what tells the manager its database
	db     *sql.DB         // to look at it from outside
	rm, jr *process.Process
	url    string
	http   *http.Client
	// rmStarted is how long the manager took from exec to ready.
	rmStarted time.Duration
}

// build builds the binary that is measured.
func build(ctx context.Context) (bin string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "treadle-load-bin-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	bin = filepath.Join(dir, "treadle")
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", bin, "./cmd/treadle").CombinedOutput(); err != nil {
		remove()
		return "", nil, fmt.Errorf("go build: %w: %s", err, out)
	}
	return bin, remove, nil
}

// start starts everything, on a new database that is migrated already.
func start(ctx context.Context, o options, specs string) (*system, error) {
	dir, err := os.MkdirTemp("", "treadle-load-")
	if err != nil {
		return nil, err
	}
	s := &system{o: o, dir: dir, http: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}}
	if err := s.startAll(ctx, specs); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

func (s *system) startAll(ctx context.Context, specs string) error {
	if err := s.startDB(ctx); err != nil {
		return err
	}
	migrate := exec.CommandContext(ctx, s.o.bin, "migrate", "up")
	migrate.Env = append(os.Environ(), s.dbEnv)
	if out, err := migrate.CombinedOutput(); err != nil {
		return fmt.Errorf("treadle migrate up: %w: %s", err, out)
	}
	addr, err := freeAddr()
	if err != nil {
		return err
	}
	s.url = "http://" + addr
	began := time.Now()
	s.rm, err = process.Start(s.o.bin, filepath.Join(s.dir, "rm.log"), []string{"request-manager"},
		s.dbEnv, "TREADLE_SERVER_ADDR="+addr, "TREADLE_SPECS_DIR="+specs, "TREADLE_LIMITS_ARGS=8388608")
	if err != nil {
		return err
	}
	if err := s.awaitReady(ctx, s.url); err != nil {
		return err
	}
	s.rmStarted = time.Since(began)
	return s.startJR(ctx)
}

func (s *system) startDB(ctx context.Context) (err error) {
	if s.o.db == "sqlite" {
		path := filepath.Join(s.dir, "treadle.db")
		s.dbEnv = "TREADLE_SQLITE_PATH=" + path
		s.db, err = sql.Open("sqlite", path+"?_pragma=busy_timeout(10000)")
		return err
	}
	if s.server, err = mariadb.Start(ctx, mariadb.Options{BufferPool: 1024}); err != nil {
		return err
	}
	dsn, err := s.server.NewDatabase(ctx)
	if err != nil {
		return err
	}
	s.dbEnv = "TREADLE_MYSQL_DSN=" + dsn
	s.db, err = sql.Open("mysql", dsn)
	return err
}

func (s *system) startJR(ctx context.Context) error {
	addr, err := freeAddr()
	if err != nil {
		return err
	}
	s.jr, err = process.Start(s.o.bin, filepath.Join(s.dir, "jr.log"), []string{"job-runner"},
		"TREADLE_SERVER_ADDR="+addr, "TREADLE_RM_CLIENT_URL="+s.url)
	if err != nil {
		return err
	}
	return s.awaitReady(ctx, "http://"+addr)
}

func (s *system) stop() {
	for _, p := range []*process.Process{s.jr, s.rm} {
		if p != nil {
			_ = p.End(syscall.SIGKILL)
		}
	}
	if s.db != nil {
		_ = s.db.Close()
	}
	if s.server != nil {
		s.server.Stop()
	}
	_ = os.RemoveAll(s.dir)
}

func freeAddr() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer ln.Close() //nolint:errcheck // only its address is wanted
	return ln.Addr().String(), nil
}

func (s *system) awaitReady(ctx context.Context, base string) error {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	err := poll.Until(ctx, 2*time.Millisecond, func() (bool, error) {
		resp, err := s.http.Get(base + "/readyz")
		if err != nil {
			return false, nil
		}
		defer resp.Body.Close()
		return resp.StatusCode == http.StatusOK, nil
	})
	if err != nil {
		return fmt.Errorf("%s is not ready: %w\n%s", base, err, s.logs())
	}
	return nil
}

func (s *system) logs() string {
	var all strings.Builder
	for _, name := range []string{"rm.log", "jr.log"} {
		b, _ := os.ReadFile(filepath.Join(s.dir, name))
		all.Write(b[max(0, len(b)-2000):])
	}
	return all.String()
}

// await waits until so many requests match the condition, as the database sees
// them.
func (s *system) await(ctx context.Context, condition string, requests int) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	n := 0
	err := poll.Until(ctx, 5*time.Millisecond, func() (bool, error) {
		err := s.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM requests WHERE "+condition).Scan(&n)
		return n >= requests, err
	})
	if err != nil {
		return fmt.Errorf("%d of %d requests with %s: %w\n%s", n, requests, condition, err, s.logs())
	}
	return nil
}

// awaitState waits until one request is in a state, as the database sees it.
func (s *system) awaitState(ctx context.Context, id string, state int) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	got := 0
	err := poll.Until(ctx, time.Millisecond, func() (bool, error) {
		err := s.db.QueryRowContext(ctx, "SELECT state FROM requests WHERE request_id = '"+id+"'").Scan(&got)
		return got == state, err
	})
	if err != nil {
		return fmt.Errorf("request %s is in state %d, not %d: %w\n%s", id, got, state, err, s.logs())
	}
	return nil
}

// awaitRunning waits until so many jobs run.
func (s *system) awaitRunning(ctx context.Context, jobs int) error {
	return poll.Until(ctx, time.Second, func() (bool, error) {
		resp, err := s.http.Get(s.url + "/api/v1/status/running")
		if err != nil {
			return false, err
		}
		defer resp.Body.Close()
		var status struct{ Jobs []struct{} }
		err = json.NewDecoder(resp.Body).Decode(&status)
		return len(status.Jobs) >= jobs, err
	})
}

// post creates a request and returns its id.
func (s *system) post(ctx context.Context, body []byte) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+"/api/v1/requests", bytes.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.http.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		return "", err
	}
	if resp.StatusCode != http.StatusCreated {
		return "", fmt.Errorf("POST /api/v1/requests: %s: %.300s", resp.Status, answer)
	}
	var r struct {
		ID string `json:"id"`
	}
	return r.ID, json.Unmarshal(answer, &r)
}
