package requests

import (
	"path/filepath"
	"sync"
	"time"

	"github.com/treadle-run/treadle/test/process"
	"github.com/treadle-run/treadle/test/torture"
)

// The verbs of services.
const (
	requestManager = "request-manager"
	jobRunner      = "job-runner"
)

// endLimit is how long a service may take to end in good order.
const endLimit = time.Minute

// service is a manager or a runner. Its address stays the same from process to process,
// but for a runner that moves.
type service struct {
	*torture.Service
	s    *system
	verb string
	env  func() []string

	mu   sync.Mutex
	addr string // where it listens
	url  string // how others reach it
}

func (s *system) newService(name, verb string) *service {
	x := &service{s: s, verb: verb}
	x.Service = &torture.Service{Name: name, Launch: x.launch}
	return x
}

func (x *service) launch(name string) (*process.Process, error) {
	env := append(x.env(), x.s.marker, "TREADLE_CLUSTER_SECRET="+clusterSecret, "FAULTS_DIR="+x.s.dir, "FAULTS_RUNNER="+name)
	return process.Start(x.s.o.Program, x.logPath(), []string{x.verb}, env...)
}

func (x *service) logPath() string { return filepath.Join(x.s.dir, x.Name+".log") }

func (x *service) address() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.addr
}

// baseURL returns how others reach the service.
func (x *service) baseURL() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.url
}

// end ends the process in good order.
func (x *service) end() {
	if err := x.Terminate(endLimit); err != nil {
		x.s.o.Say.Printf("%v; killed", err)
	}
}
