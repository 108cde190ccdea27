package request

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/treadle-run/treadle/grapher"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// JobRunners reaches Job Runners by their base URL. An error of type
// *proto.Error without a cause is the runner's own answer.
type JobRunners interface {
	// StartChain and ResumeChain send a chain to a runner, by ID and URL; body is its
	// JSON.
	StartChain(ctx context.Context, to proto.Runner, requestID string, epoch uint64, body []byte) error
	ResumeChain(ctx context.Context, to proto.Runner, requestID string, epoch uint64, body []byte) error
	StopChain(ctx context.Context, url, requestID string) error
	Running(ctx context.Context, url string) ([]proto.JobStatus, error)
	// Identify returns the ID of the runner at a URL.
	Identify(ctx context.Context, url string) (id string, err error)
}

// Config is what a Manager needs.
type Config struct {
	Store   *store.Store
	Specs   *grapher.Specs
	Runners JobRunners
	Logger  *slog.Logger
	// Registry gets the metrics; default: one of its own.
	Registry *prometheus.Registry
	// ManagerID names this manager in claims; it must be new for every process.
	ManagerID string
	// RunnerURL, if not "", is the one runner that chains are sent to.
	RunnerURL string

	MaxArgsSize      int           // bytes of JSON of a request's args; default 1 MiB
	RunnerTries      int           // to reach a runner that does not answer; default 5
	RunnerRetryWait  time.Duration // between these tries; default 5 s
	DeliveryTimeout  time.Duration // limit of one of these tries; default 10 s
	Lease            time.Duration // of runners; default 60 s
	LeaseMargin      time.Duration // after the lease, until a runner is declared dead; default 5 s
	SuspendTTL       time.Duration // default 1 h
	ClaimTimeout     time.Duration // default 5 min
	ResumeEvery      time.Duration // default 3 s
	StatusTimeout    time.Duration // for a runner to say what it runs, or to accept a stop; default 2 s
	KeepKeys         time.Duration // idempotency keys; default 48 h
	HeartbeatTimeout time.Duration // a runner not seen for so long gets nothing new; default 8 s

	// Ended, if not nil, is called with requests that ended through this manager, or
	// may have. HostUp, if not nil, is called with a host that had no runner that
	// accepts job chains, and now has one. Both are called where requests are worked
	// on: they must return at once.
	Ended  func(requestIDs ...string)
	HostUp func(host string)
}

func (c Config) withDefaults() Config {
	if c.Ended == nil {
		c.Ended = func(...string) {}
	}
	if c.HostUp == nil {
		c.HostUp = func(string) {}
	}
	if c.Registry == nil {
		c.Registry = prometheus.NewRegistry()
	}
	c.MaxArgsSize = cmp.Or(c.MaxArgsSize, proto.DefaultArgsSize)
	c.RunnerTries = cmp.Or(c.RunnerTries, 5)
	c.RunnerRetryWait = cmp.Or(c.RunnerRetryWait, 5*time.Second)
	c.DeliveryTimeout = cmp.Or(c.DeliveryTimeout, 10*time.Second)
	c.Lease = cmp.Or(c.Lease, time.Minute)
	c.LeaseMargin = cmp.Or(c.LeaseMargin, 5*time.Second)
	c.SuspendTTL = cmp.Or(c.SuspendTTL, time.Hour)
	c.ClaimTimeout = cmp.Or(c.ClaimTimeout, 5*time.Minute)
	c.ResumeEvery = cmp.Or(c.ResumeEvery, 3*time.Second)
	c.StatusTimeout = cmp.Or(c.StatusTimeout, 2*time.Second)
	c.KeepKeys = cmp.Or(c.KeepKeys, 48*time.Hour)
	c.HeartbeatTimeout = cmp.Or(c.HeartbeatTimeout, 8*time.Second)
	return c
}

// ttl is for how long a request may be SUSPENDED: users are told whole seconds.
func (c *Config) ttl() time.Duration { return c.SuspendTTL.Round(time.Second) }

// deathLimit is for how long a runner must not have been seen to be declared dead:
// by then it has stopped its jobs by itself.
func (c *Config) deathLimit() time.Duration { return c.Lease + c.LeaseMargin }

// handOverTime is how long a chain may be on its way to a runner that does not
// count its heartbeats before it is believed when it says that it does not have
// the chain: longer than all tries to deliver it take.
func (c *Config) handOverTime() time.Duration {
	return time.Duration(c.RunnerTries)*(c.DeliveryTimeout+c.RunnerRetryWait) + 10*time.Second
}
