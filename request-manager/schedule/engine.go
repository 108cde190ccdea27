package schedule

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// Config is what an Engine needs.
type Config struct {
	Store *store.Store
	Hook  Hook
	// Check says what is wrong with an app, given all others by name: an error with
	// CodeInvalid. nil accepts all that have a calendar.
	Check  func(app proto.App, others map[string]proto.App) error
	Logger *slog.Logger
	// Registry gets the metrics; default: one of its own.
	Registry *prometheus.Registry
	// Node names this member. Its ID must be new for every process; the times are set
	// by the database.
	Node proto.Node
	// SpecApps are the apps that the specs declare.
	SpecApps []proto.App

	Poll       time.Duration // between two looks for what is due; default 1 s
	Heartbeat  time.Duration // between two of them; default 2 s
	StaleAfter time.Duration // a member not heard of for so long loses its instances; default 15 s
	Workers    int           // instances worked on at a time; default 128
	MaxWaiting int           // instances in memory that wait for their time or a worker; default 20,000
	Keep       time.Duration // of instances that ended, and events; default 400 days
}

func (c *Config) setDefaults() {
	def := func(d *time.Duration, v time.Duration) {
		if *d == 0 {
			*d = v
		}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Registry == nil {
		c.Registry = prometheus.NewRegistry()
	}
	if c.Check == nil {
		c.Check = func(proto.App, map[string]proto.App) error { return nil }
	}
	if c.Workers == 0 {
		c.Workers = 128
	}
	if c.MaxWaiting == 0 {
		c.MaxWaiting = 20_000
	}
	def(&c.Poll, time.Second)
	def(&c.Heartbeat, 2*time.Second)
	def(&c.StaleAfter, 15*time.Second)
	def(&c.Keep, 400*24*time.Hour)
}

// Engine runs recurring work. Its methods are safe for concurrent use; those that
// read and change apps work whether Run does or not.
type Engine struct {
	cfg Config
}

// New returns an Engine; Run brings it to life.
func New(cfg Config) *Engine {
	cfg.setDefaults()
	return &Engine{cfg: cfg}
}

// Run runs the engine until ctx ends. Then it takes nothing new, gives up what it
// works on so that other members go on at once, and returns.
func (e *Engine) Run(ctx context.Context) { <-ctx.Done() }
