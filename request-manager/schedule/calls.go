package schedule

import (
	"context"
	"time"

	"github.com/treadle-run/treadle/proto"
)

var errNotBuilt = proto.Errorf(proto.CodeInternal, "not built")

// Sync puts the apps of the specs into the database, and removes those that were
// there and are not in the specs any more. Run does it until it succeeds.
func (e *Engine) Sync(ctx context.Context) error { return errNotBuilt }

// Ended says that requests ended: instances that wait for them go on. It never
// blocks; what it cannot keep is found later.
func (e *Engine) Ended(requestIDs ...string) {}

// HostUp says that a Job Runner is there on a host: instances that wait for it go on.
// It never blocks.
func (e *Engine) HostUp(host string) {}

// Apps returns the apps by name, those after the given name, at most limit (1,000 if
// 0). They are without Next and Last.
func (e *Engine) Apps(ctx context.Context, after string, limit int) ([]proto.AppStatus, error) {
	return nil, errNotBuilt
}

// App returns an app and how it stands.
func (e *Engine) App(ctx context.Context, name string) (proto.AppStatus, error) {
	return proto.AppStatus{}, errNotBuilt
}

// PutApp makes or changes an app that is not declared by the specs. changed is false
// if it was the same.
func (e *Engine) PutApp(ctx context.Context, app proto.App) (changed bool, err error) {
	return false, errNotBuilt
}

// DeleteApp removes an app that is not declared by the specs. What runs of it ends.
func (e *Engine) DeleteApp(ctx context.Context, name string) error { return errNotBuilt }

// PauseApp keeps an app from starting instances, or lets it go on.
func (e *Engine) PauseApp(ctx context.Context, name string, paused bool) error { return errNotBuilt }

// RunPeriods makes instances of past periods, or of failed ones again.
func (e *Engine) RunPeriods(ctx context.Context, name string, r proto.RunPeriods) (proto.RunPeriodsAnswer, error) {
	return proto.RunPeriodsAnswer{}, errNotBuilt
}

// Periods returns the ledger of an app: the periods that start in [since, until),
// the newest limit (100 if 0) of them, newest first. A zero until is one period from
// now; a zero since has no bound.
func (e *Engine) Periods(ctx context.Context, name string, since, until time.Time, limit int) ([]proto.Period, error) {
	return nil, errNotBuilt
}

// Blocked returns the periods that wait for upstream apps, at most 1,000.
func (e *Engine) Blocked(ctx context.Context) ([]proto.Blocked, error) { return nil, errNotBuilt }

// Instances returns instances: those that have not ended first, then newest first.
func (e *Engine) Instances(ctx context.Context, f proto.InstanceFilter) ([]proto.Instance, error) {
	return nil, errNotBuilt
}

// HostInstances returns what a host was given: what has not ended, and of the rest
// the last 1,000.
func (e *Engine) HostInstances(ctx context.Context, host string) ([]proto.HostInstance, error) {
	return nil, errNotBuilt
}

// NextTimes returns the next n (10 if 0, at most 1,000) times of an app, and what is
// unusual about them.
func (e *Engine) NextTimes(ctx context.Context, name string, n int) ([]proto.NextTime, error) {
	return nil, errNotBuilt
}

// Events returns events of an app with an ID greater than since, at most limit
// (1,000 if 0).
func (e *Engine) Events(ctx context.Context, name string, since uint64, limit int) ([]proto.AppEvent, error) {
	return nil, errNotBuilt
}

// Members returns who runs the engine.
func (e *Engine) Members(ctx context.Context) ([]proto.Member, error) { return nil, errNotBuilt }

// SetShards changes into how many shards the apps are cut, from 1 to 1024. Members
// follow within two heartbeats.
func (e *Engine) SetShards(ctx context.Context, n int) error { return errNotBuilt }
