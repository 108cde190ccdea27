package requests

import (
	"context"
	"database/sql"
	_ "embed" // of the jobs
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/treadle-run/treadle/test/poll"
	"github.com/treadle-run/treadle/test/torture"
)

//go:embed lib.sh
var libScript []byte

//go:embed specs/torture.yaml
var specs []byte

// specsDir is where, below the directory of the test, the specs are.
const specsDir = "specs"

// system is a whole Treadle: a database, managers and runners, and the proxies
// between them.
type system struct {
	o         Options
	dir       string
	ownDir    bool
	removeDir bool
	marker    string // in the environment of everything that is started
	db        *torture.Database
	look      *sql.DB // the database from outside
	rms, jrs  []*service
	http      *http.Client

	mu      sync.Mutex
	links   map[string]*link
	proxies []*proxy
}

func newSystem(o Options) (*system, error) {
	dir := o.Dir
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "treadle-torture-"); err != nil {
			return nil, err
		}
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &system{
		o: o, dir: dir, ownDir: o.Dir == "", links: map[string]*link{},
		marker: fmt.Sprintf("FAULTS_RUN=%d-%d", os.Getpid(), time.Now().UnixNano()),
		http:   &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 8}},
	}
	for _, below := range []string{"locks", specsDir} {
		if err := os.MkdirAll(filepath.Join(dir, below), 0o755); err != nil {
			return nil, err
		}
	}
	return s, errors.Join(
		os.WriteFile(filepath.Join(dir, "lib.sh"), libScript, 0o644),
		os.WriteFile(filepath.Join(dir, specsDir, "torture.yaml"), specs, 0o644),
	)
}

// start starts everything and waits until it is ready.
func (s *system) start(ctx context.Context) error {
	var err error
	if s.db, err = torture.StartDatabase(ctx, s.o.DB, s.dir); err != nil {
		return err
	}
	if s.look, err = s.db.Look(); err != nil {
		return err
	}
	for i := range s.o.RMs {
		rm, err := s.newRM(i)
		if err != nil {
			return err
		}
		s.rms = append(s.rms, rm)
		if err := rm.Start(); err != nil {
			return err
		}
		// One after the other, so that the first migrates.
		if err := s.awaitReady(ctx, rm); err != nil {
			return err
		}
	}
	for i := range s.o.JRs {
		jr, err := s.newJR(fmt.Sprintf("jr%d", i+1))
		if err != nil {
			return err
		}
		s.jrs = append(s.jrs, jr)
		if err := jr.Start(); err != nil {
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
	rm := s.newService(name, requestManager)
	rm.addr, rm.url = addr, "http://"+addr
	env := []string{
		"TREADLE_SERVER_ADDR=" + addr,
		"TREADLE_SPECS_DIR=" + filepath.Join(s.dir, specsDir),
		"TREADLE_LEASE=" + s.o.lease().String(),
		"TREADLE_RESUMER_CLAIM_TIMEOUT=" + claimTimeout.String(),
		"TREADLE_RUNNER_TRIES=3", "TREADLE_RUNNER_RETRY_WAIT=1s",
	}
	front := ""
	if routes := s.databaseRoutes(name, number); len(routes) > 0 {
		p, err := s.proxy(func(net.Addr) []route { return routes })
		if err != nil {
			return nil, err
		}
		front = p.addr()
	}
	rm.env = func() []string { return append(env, s.db.Env(0, front)...) }
	return rm, nil
}

// databaseRoutes are the ways of a manager to the database: its own server, then the
// others.
func (s *system) databaseRoutes(rm string, number int) []route {
	var all []route
	for i := range s.db.Servers {
		x := s.db.Servers[(number+i)%len(s.db.Servers)]
		all = append(all, route{s.link(rm, "db"), x.Addr()})
	}
	return all
}

// newJR makes a runner with a load balancer to the managers and a proxy in front
// of it.
func (s *system) newJR(name string) (*service, error) {
	jr := s.newService(name, jobRunner)
	var routes []route
	for _, rm := range s.rms {
		routes = append(routes, route{s.link(name, rm.Name), rm.addr})
		s.link(rm.Name, name)
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
			if ownsConnection(rm.PID(), client) {
				return []route{{s.link(rm.Name, jr.Name), addr}}
			}
		}
		return []route{{s.link("test", jr.Name), addr}}
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
	for _, x := range s.services() {
		x.Kill()
	}
	killMarked(s.marker)
	for _, p := range s.proxies {
		p.stop()
	}
	if s.look != nil {
		_ = s.look.Close() // it only reads
	}
	if s.db != nil {
		s.db.Stop()
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

// services returns the runners, then the managers.
func (s *system) services() []*service { return append(append([]*service(nil), s.jrs...), s.rms...) }

func (s *system) service(name string) (*service, error) {
	for _, x := range s.services() {
		if x.Name == name {
			return x, nil
		}
	}
	return nil, fmt.Errorf("there is no service %s", name)
}

// link returns the link of that name, making it if it is new.
func (s *system) link(from, to string) *link {
	name := linkName(from, to)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.links[name] == nil {
		s.links[name] = newLink(from, to)
	}
	return s.links[name]
}

// awaitReady waits until a service says that it is ready.
func (s *system) awaitReady(ctx context.Context, x *service) error {
	ctx, cancel := context.WithTimeoutCause(ctx, 90*time.Second, errors.New("not ready in time"))
	defer cancel()
	err := poll.Until(ctx, 50*time.Millisecond, func() (bool, error) {
		if x.Ended() {
			return false, errors.New("it ended")
		}
		resp, err := s.http.Get("http://" + x.address() + "/readyz")
		if err != nil {
			return false, nil
		}
		return resp.StatusCode == http.StatusOK, resp.Body.Close()
	})
	if err != nil {
		return fmt.Errorf("%s: %w", x.Name, err)
	}
	return nil
}

func (s *system) awaitAll(ctx context.Context) error {
	for _, x := range s.services() {
		if err := s.awaitReady(ctx, x); err != nil {
			return err
		}
	}
	return nil
}

// startMissing starts what is not running, at the end of all faults.
func (s *system) startMissing(ctx context.Context) error {
	for _, x := range s.services() {
		if x.Ended() {
			if err := x.Start(); err != nil {
				return err
			}
		}
	}
	return s.awaitAll(ctx)
}
