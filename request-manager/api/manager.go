package api

import (
	"context"

	"github.com/treadle-run/treadle/proto"
)

// Manager is what the API needs from the Request Manager's core. Errors for the
// caller are *proto.Error; any other error is answered as "internal error".
type Manager interface {
	// Create makes a request for the user. Two calls with one key, unless it is "",
	// and one body give the same request.
	Create(ctx context.Context, r proto.CreateRequest, user, key string) (proto.Request, error)
	Get(ctx context.Context, id string) (proto.Request, error)
	GetWithJC(ctx context.Context, id string) (proto.Request, error)
	JobChain(ctx context.Context, id string) (*proto.JobChain, error)
	Start(ctx context.Context, id string) error
	Stop(ctx context.Context, id string) error
	Find(ctx context.Context, f proto.RequestFilter) ([]proto.Request, error)
	Specs() []proto.RequestSpec

	Log(ctx context.Context, id string) ([]proto.JobLog, error)
	LastLog(ctx context.Context, id, jobID string) (proto.JobLog, error)
	Running(ctx context.Context, requestID, orderBy string) (proto.RunningStatus, error)

	Finish(ctx context.Context, epoch uint64, f proto.Finish) error
	Progress(ctx context.Context, epoch uint64, p proto.Progress) error
	AddLog(ctx context.Context, epoch uint64, e proto.JobLog) error
	SuspendReport(ctx context.Context, epoch uint64, sjc *proto.SuspendedJobChain) error
	Report(ctx context.Context, r proto.Report) (proto.ReportAnswer, error)
	Heartbeat(ctx context.Context, r proto.Runner) (proto.HeartbeatAnswer, error)

	Runners(ctx context.Context) ([]proto.Runner, error)
	Drain(ctx context.Context, runner string, drain bool) error
	Ready(ctx context.Context) error

	// Changed returns a channel that is sent to or closed when the request may have
	// changed, and a function that releases it.
	Changed(id string) (<-chan struct{}, func())
}
