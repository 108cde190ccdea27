package app

import (
	"os"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/treadle-run/treadle/grapher"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/request"
	"github.com/treadle-run/treadle/request-manager/schedule"
	"github.com/treadle-run/treadle/request-manager/store"
)

// newEngine makes the schedule engine, whose instances are requests of the manager.
func newEngine(cfg Config, deps Deps, db *store.Store, specs *grapher.Specs, manager *request.Manager, member string, metrics *prometheus.Registry) *schedule.Engine {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return schedule.New(schedule.Config{
		Store: db, Hook: schedule.NewRequestHook(manager), Logger: deps.Logger, Registry: metrics,
		Node: proto.Node{ID: member, Host: host, PID: os.Getpid(), Version: deps.Version},
		Poll: cfg.Schedule.Poll, Heartbeat: cfg.Schedule.Heartbeat, StaleAfter: cfg.Schedule.StaleAfter,
		Workers: cfg.Schedule.Workers, Keep: cfg.Schedule.Keep,
	})
}
