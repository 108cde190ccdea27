package app

import (
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/treadle-run/treadle/grapher"
	"github.com/treadle-run/treadle/grapher/check"
	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/request"
	"github.com/treadle-run/treadle/schedule/engine"
	"github.com/treadle-run/treadle/schedule/plan"
	"github.com/treadle-run/treadle/schedule/store"
)

// newEngine makes the schedule engine, whose instances are requests of the manager.
func newEngine(cfg Config, deps Deps, db *database.DB, specs *grapher.Specs, manager *request.Manager, managerID string, metrics *prometheus.Registry) *engine.Engine {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	apps := make([]proto.App, len(specs.Apps))
	for i, a := range specs.Apps {
		apps[i] = a.App
	}
	return engine.New(engine.Config{
		Check: checkApp(specs, cfg), SpecApps: apps,
		Store: store.New(db), Hook: engine.NewRequestHook(manager), Logger: deps.Logger, Registry: metrics,
		Member: proto.Member{ID: managerID, Host: host, PID: os.Getpid(), Version: deps.Version},
		Poll:   cfg.Schedule.Poll, Heartbeat: cfg.Schedule.Heartbeat, StaleAfter: cfg.Schedule.StaleAfter,
		Workers: cfg.Schedule.Workers, Keep: cfg.Schedule.Keep,
	})
}

// NextTimes returns the next n times of an app after now, and remarks on unusual ones,
// without a Request Manager.
func NextTimes(app proto.App, now time.Time, n int) ([]proto.NextTime, error) {
	return plan.Preview(app, now, n)
}

// checkApp returns the check of apps that come over the API: what lint holds those of
// the specs to, and what the configuration allows.
func checkApp(specs *grapher.Specs, cfg Config) func(proto.App, map[string]proto.App) error {
	return func(app proto.App, others map[string]proto.App) error {
		if err := request.CheckArgsSize(app.Args, cfg.Limits.Args); err != nil {
			return err
		}
		return badApp(specs.CheckApp(app, others))
	}
}

// badApp says what is wrong with an app that came over the API; nil if nothing is.
func badApp(problems []check.AppProblem) error {
	if len(problems) == 0 {
		return nil
	}
	messages := make([]string, len(problems))
	for i, p := range problems {
		messages[i] = p.Message
	}
	return proto.Errorf(proto.CodeInvalid, "%s", proto.JoinNames(messages, "; "))
}
