package api

import (
	"context"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// Scheduler is what the API needs from the engine of recurring work. Errors for
// the caller are *proto.Error; any other error is answered as "internal error".
type Scheduler interface {
	// Apps returns apps by name, those after the given name, at most limit; a limit of
	// 0 is a default, here and below.
	Apps(ctx context.Context, after string, limit int) ([]proto.AppStatus, error)
	App(ctx context.Context, name string) (proto.AppStatus, error)
	PutApp(ctx context.Context, app proto.App) (changed bool, err error)
	DeleteApp(ctx context.Context, name string) error
	PauseApp(ctx context.Context, name string, paused bool) error
	// UndoInstance has an undo that keeps failing tried now or given up, for a user.
	UndoInstance(ctx context.Context, app string, u proto.UndoInstance, user string) error
	RunPeriods(ctx context.Context, name string, r proto.RunPeriods) (proto.RunPeriodsAnswer, error)

	Periods(ctx context.Context, name string, since, until time.Time, limit int) ([]proto.Period, error)
	NextTimes(ctx context.Context, name string, from time.Time, n int) ([]proto.NextTime, error)
	Events(ctx context.Context, name string, since uint64, limit int) ([]proto.AppEvent, error)
	Blocked(ctx context.Context, name string, limit int) ([]proto.Blocked, error)
	Instances(ctx context.Context, f proto.InstanceFilter) ([]proto.Instance, error)
	HostInstances(ctx context.Context, host string) ([]proto.HostInstance, error)

	Members(ctx context.Context) ([]proto.Member, error)
	SetShards(ctx context.Context, n int) error
}
