package schedule

import (
	"context"

	"github.com/treadle-run/treadle/proto"
)

// Requests are what a RequestHook asks for. The Manager of package request has them.
type Requests interface {
	// Create makes a request, or returns the one that was made with the same key.
	Create(ctx context.Context, c proto.CreateRequest, user, key string) (proto.Request, error)
	Get(ctx context.Context, id string) (proto.Request, error)
	Log(ctx context.Context, id string) ([]proto.JobLog, error)
	Stop(ctx context.Context, id string) error
	// Specs says which args requests have.
	Specs() []proto.RequestSpec
	// HostUp reports whether a Job Runner that takes work is on a host.
	HostUp(host string) bool
}

// RequestHook is the Hook whose instances are requests.
type RequestHook struct {
	requests Requests
}

// NewRequestHook returns the hook. An instance starts the request of its app, with
// the args of the app and those of conf, instance, periodStart and periodEnd that the
// request declares and the app does not give.
func NewRequestHook(r Requests) *RequestHook { return &RequestHook{requests: r} }

// Ready reports whether the host of the instance is there.
func (h *RequestHook) Ready(_ context.Context, in proto.Instance) (ok bool, reason string) {
	if in.Host == "" || h.requests.HostUp(in.Host) {
		return true, ""
	}
	return false, "waits for a job runner on host " + in.Host
}

// Run starts the request of the instance, or looks at it.
func (h *RequestHook) Run(context.Context, proto.App, proto.Instance) (Outcome, error) {
	return Outcome{}, errNotBuilt
}

// Undo starts the undo request of the app, or looks at it.
func (h *RequestHook) Undo(context.Context, proto.App, proto.Instance) (Outcome, error) {
	return Outcome{}, errNotBuilt
}
