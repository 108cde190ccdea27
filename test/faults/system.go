package main

import (
	"context"
	_ "embed" // of lib.sh
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// The times that Treadle is given. Short ones, so that much happens.
const (
	shortLease = 5 * time.Second
	// galeraLease is longer than a cluster stands still when it loses a node.
	galeraLease  = 15 * time.Second
	claimTimeout = 15 * time.Second
)

// lease is that of all runners.
func (o options) lease() time.Duration {
	if o.db == onGalera {
		return galeraLease
	}
	return shortLease
}

// leaseEnd is when a runner that is not heard of is given up: after its lease and
// the margin that managers have.
func (o options) leaseEnd() time.Duration { return o.lease() + 5*time.Second }

//go:embed lib.sh
var libScript []byte

// system is a whole Treadle: a database, managers and runners, and the proxies
// between them.
type system struct {
	o         options
	dir       string
	removeDir bool
	bin       string
	marker    string // in the environment of everything that is started
	db        *database
	rms, jrs  []*service
	http      *http.Client

	mu      sync.Mutex
	links   map[string]*link
	proxies []*proxy
}

func newSystem(ctx context.Context, o options) (*system, error) {
	dir := o.dir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "treadle-faults-"); err != nil {
			return nil, err
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &system{
		o: o, dir: dir, bin: o.bin, links: map[string]*link{},
		marker: fmt.Sprintf("FAULTS_RUN=%d-%d", os.Getpid(), time.Now().UnixNano()),
		http:   &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 8}},
	}
	if err := os.MkdirAll(filepath.Join(dir, "locks"), 0o755); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "lib.sh"), libScript, 0o644); err != nil {
		return nil, err
	}
	if s.bin == "" {
		s.bin = filepath.Join(dir, "treadle")
		if err := build(ctx, s.bin, o.race); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func build(ctx context.Context, bin string, race bool) error {
	root, err := repoDir()
	if err != nil {
		return err
	}
	args, cgo := []string{"build", "-o", bin}, "CGO_ENABLED=0" // as the Makefile builds it
	if race {
		args, cgo = append(args, "-race"), "CGO_ENABLED=1"
	}
	cmd := exec.CommandContext(ctx, "go", append(args, "./cmd/treadle")...)
	cmd.Dir, cmd.Env = root, append(os.Environ(), cgo)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build: %w: %s", err, out)
	}
	return nil
}

// start starts everything and waits until it is ready.
func (s *system) start(ctx context.Context) error {
	var err error
	if s.db, err = startDatabase(ctx, s.o.db, s.dir); err != nil {
		return err
	}
	for i := range s.o.rms {
		rm, err := s.newRM(i)
		if err != nil {
			return err
		}
		s.rms = append(s.rms, rm)
		if err := rm.start(); err != nil {
			return err
		}
		// One after the other, so that the first migrates.
		if err := s.awaitReady(ctx, rm); err != nil {
			return err
		}
	}
	for i := range s.o.jrs {
		jr, err := s.newJR(fmt.Sprintf("jr%d", i+1))
		if err != nil {
			return err
		}
		s.jrs = append(s.jrs, jr)
		if err := jr.start(); err != nil {
			return err
		}
	}
	return s.awaitAll(ctx)
}

// newRM makes a manager with a proxy to its database.
func (s *system) newRM(number int) (*service, error) {
	name := fmt.Sprintf("rm%d", number+1)
	addr, err := freeAddr()
	if err != nil {
		return nil, err
	}
	root, err := repoDir()
	if err != nil {
		return nil, err
	}
	rm := &service{s: s, name: name, verb: "request-manager", addr: addr, url: "http://" + addr}
	env := []string{
		"TREADLE_SERVER_ADDR=" + addr,
		"TREADLE_SPECS_DIR=" + filepath.Join(root, "test", "faults", "specs"),
		"TREADLE_LEASE=" + s.o.lease().String(),
		"TREADLE_RESUMER_CLAIM_TIMEOUT=" + claimTimeout.String(),
		"TREADLE_RUNNER_TRIES=3", "TREADLE_RUNNER_RETRY_WAIT=1s",
	}
	front := ""
	if routes := s.db.routes(s, name, number); len(routes) > 0 {
		p, err := s.proxy(func(net.Addr) []route { return routes })
		if err != nil {
			return nil, err
		}
		front = p.addr()
	}
	rm.env = func() []string { return append(env, s.db.env(front)) }
	return rm, nil
}

// newJR makes a runner with a load balancer to the managers and a proxy in front
// of it.
func (s *system) newJR(name string) (*service, error) {
	jr := &service{s: s, name: name, verb: "job-runner"}
	var routes []route
	for _, rm := range s.rms {
		routes = append(routes, route{s.link(name, rm.name), rm.addr})
		s.link(rm.name, name)
	}
	out, err := s.proxy(fixed(routes...))
	if err != nil {
		return nil, err
	}
	// Every runner stands for a machine of its own: what it keeps in files the others
	// do not see.
	dir := filepath.Join(s.dir, name)
	if err := os.MkdirAll(filepath.Join(dir, "tmp"), 0o755); err != nil {
		return nil, err
	}
	jr.env = func() []string {
		return []string{
			"TREADLE_SERVER_ADDR=" + jr.addr, "TREADLE_SERVER_URL=" + jr.url,
			"TREADLE_RM_CLIENT_URL=http://" + out.addr(), "TREADLE_HOST=" + name,
			"TREADLE_WORK_DIR=" + dir, "TMPDIR=" + filepath.Join(dir, "tmp"),
		}
	}
	return jr, s.moveJR(jr)
}

// moveJR gives a runner an address that it did not have before.
func (s *system) moveJR(jr *service) error {
	addr, err := freeAddr()
	if err != nil {
		return err
	}
	in, err := s.proxy(func(client net.Addr) []route {
		for _, rm := range s.rms {
			if ownsConnection(rm.pid(), client) {
				return []route{{s.link(rm.name, jr.name), addr}}
			}
		}
		return []route{{s.link("test", jr.name), addr}}
	})
	if err != nil {
		return err
	}
	jr.mu.Lock()
	defer jr.mu.Unlock()
	jr.addr, jr.url = addr, "http://"+in.addr()
	return nil
}

func (s *system) proxy(routes func(net.Addr) []route) (*proxy, error) {
	p, err := startProxy(routes)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proxies = append(s.proxies, p)
	return p, nil
}

// stop ends what still runs, whatever it is.
func (s *system) stop() {
	for _, x := range append(append([]*service(nil), s.jrs...), s.rms...) {
		x.end(syscall.SIGKILL)
	}
	killMarked(s.marker)
	for _, p := range s.proxies {
		p.stop()
	}
	if s.db != nil {
		s.db.close()
	}
	s.http.CloseIdleConnections()
	if s.removeDir {
		_ = os.RemoveAll(s.dir)
	}
}

func freeAddr() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}

// poll asks until done, or ctx ends.
func poll(ctx context.Context, interval time.Duration, done func() (bool, error)) error {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// awaitReady waits until a service says that it is ready.
func (s *system) awaitReady(ctx context.Context, x *service) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 90*time.Second, errors.New("not ready in time"))
	defer cancel()
	err := poll(ctx, 50*time.Millisecond, func() (bool, error) {
		if x.ended() {
			return false, errors.New("it ended")
		}
		resp, err := s.http.Get("http://" + x.address() + "/readyz")
		if err != nil {
			return false, nil
		}
		return resp.StatusCode == http.StatusOK, resp.Body.Close()
	})
	if err != nil {
		return fmt.Errorf("%s: %w", x.name, err)
	}
	return nil
}

func (s *system) awaitAll(ctx context.Context) error {
	for _, x := range append(append([]*service(nil), s.rms...), s.jrs...) {
		if err := s.awaitReady(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

// startMissing starts what is not running, at the end of all faults.
func (s *system) startMissing(ctx context.Context) error {
	for _, x := range append(append([]*service(nil), s.rms...), s.jrs...) {
		if x.ended() {
			if err := x.start(); err != nil {
				return err
			}
		}
	}
	return s.awaitAll(ctx)
}
