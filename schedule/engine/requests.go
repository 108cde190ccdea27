package engine

import (
	"context"
	"fmt"
	"time"

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

const (
	// A request is looked at again at the latest after firstCheck, then less often, up to
	// every lastCheck: it is its end that wakes the instance.
	firstCheck = 5 * time.Second
	lastCheck  = time.Minute
)

// RequestHook is the Hook whose instances are requests. Each instance makes one, by a
// key of its period and run, however often it is taken up; so does each try to undo
// it.
type RequestHook struct {
	requests Requests
	// declared has the args of each request that an app gives without saying so.
	declared map[string]map[string]bool
}

// NewRequestHook returns the hook. An instance starts the request of its app, with
// the args of the app and those of conf, instance, periodStart and periodEnd that the
// request declares and the app does not give.
func NewRequestHook(r Requests) *RequestHook {
	h := &RequestHook{requests: r, declared: map[string]map[string]bool{}}
	for _, spec := range r.Specs() {
		args := map[string]bool{}
		for _, a := range spec.Args {
			args[a.Name] = true
		}
		h.declared[spec.Name] = args
	}
	return h
}

// Ready reports whether the host of the instance is up.
func (h *RequestHook) Ready(_ context.Context, in proto.Instance) (ok bool, reason string) {
	if in.Host == "" || h.requests.HostUp(in.Host) {
		return true, ""
	}
	return false, "waits for a job runner on host " + in.Host
}

// Unknown names the request that the instance would start and the specs do not have.
func (h *RequestHook) Unknown(app proto.App, in proto.Instance) string {
	name, id := app.Request, in.RequestID
	if in.State == proto.InstanceToUndo || in.State == proto.InstanceUndoing {
		name, id = app.Undo, in.UndoRequestID
	}
	if name == "" || id != "" || h.declared[name] != nil {
		return ""
	}
	return "request " + name
}

// Run starts the request of the instance, or looks at it.
func (h *RequestHook) Run(ctx context.Context, app proto.App, in proto.Instance) (Outcome, error) {
	r, out, err := h.find(ctx, app, in)
	if err != nil || out.Done {
		return out, err
	}
	if !r.State.Final() {
		return waiting(r, in.StartedAt), nil
	}
	return h.ended(ctx, r)
}

// Stop stops the request of an instance whose timeout has passed. The instance fails
// when that has ended, unless it was COMPLETE by then.
func (h *RequestHook) Stop(ctx context.Context, app proto.App, in proto.Instance) (Outcome, error) {
	r, out, err := h.find(ctx, app, in)
	if err != nil || out.Done {
		return out, err
	}
	if !r.State.Final() && !r.StopRequested {
		if err := h.requests.Stop(ctx, r.ID); err != nil && proto.ErrorCode(err) != proto.CodeConflict {
			return Outcome{}, err
		}
		if r, err = h.requests.Get(ctx, r.ID); err != nil {
			return Outcome{}, err
		}
	}
	if !r.State.Final() {
		out := waiting(r, nil)
		out.Reason = "is being stopped: " + timedOut(app)
		return out, nil
	}
	out, err = h.ended(ctx, r)
	if err == nil && !out.OK {
		out.Reason = timedOut(app)
	}
	return out, err
}

// Undo starts the undo request of the app, or looks at it. Without one there is
// nothing to undo.
func (h *RequestHook) Undo(ctx context.Context, app proto.App, in proto.Instance) (Outcome, error) {
	if app.Undo == "" {
		return Outcome{Done: true, OK: true}, nil
	}
	c, err := h.request(app, in, app.Undo)
	if err != nil {
		return Outcome{}, err
	}
	key := fmt.Sprintf("schedule-undo/%s/%d/%d/%d", in.App, in.PeriodStart.UnixMicro(), in.Run, in.UndoTries)
	r, out, err := h.getOrCreate(ctx, in.UndoRequestID, c, "app:"+app.Name, key)
	if err != nil || out.Done {
		return out, err
	}
	if !r.State.Final() {
		return waiting(r, nil), nil
	}
	return Outcome{Done: true, OK: r.State == proto.StateComplete, Reason: whyEnded(r), RequestID: r.ID}, nil
}

// find returns the request of an instance, which is made if it is not there. An
// Outcome that is Done says that there can be none.
func (h *RequestHook) find(ctx context.Context, app proto.App, in proto.Instance) (proto.Request, Outcome, error) {
	c, err := h.request(app, in, app.Request)
	if err != nil {
		return proto.Request{}, Outcome{}, err
	}
	key := fmt.Sprintf("schedule/%s/%d/%d", in.App, in.PeriodStart.UnixMicro(), in.Run)
	return h.getOrCreate(ctx, in.RequestID, c, "app:"+app.Name, key)
}

func (h *RequestHook) getOrCreate(ctx context.Context, id string, c proto.CreateRequest, user, key string) (proto.Request, Outcome, error) {
	if id == "" {
		r, err := h.requests.Create(ctx, c, user, key)
		e := asError(err)
		switch {
		case err == nil:
			return r, Outcome{}, nil
		case e != nil && e.Code == proto.CodeConflict && e.RequestID != "":
			id = e.RequestID // it was made before the app changed
		case isFinal(e):
			return r, Outcome{Done: true, Reason: e.Message}, nil
		default:
			return r, Outcome{}, err
		}
	}
	r, err := h.requests.Get(ctx, id)
	if proto.ErrorCode(err) == proto.CodeNotFound && err != nil {
		return r, Outcome{Done: true, Reason: "request " + id + " no longer exists", RequestID: id}, nil
	}
	return r, Outcome{}, err
}

// waiting is the outcome while a request has not ended.
func waiting(r proto.Request, since *time.Time) Outcome {
	after := firstCheck
	if since != nil {
		after = min(max(time.Since(*since)/2, firstCheck), lastCheck) // in bounds even if our clock is wrong
	}
	return Outcome{RequestID: r.ID, WaitsFor: r.ID, CheckAfter: after, Reason: r.Reason}
}

// ended is the outcome once a request has ended.
func (h *RequestHook) ended(ctx context.Context, r proto.Request) (Outcome, error) {
	result, err := h.result(ctx, r)
	if err != nil {
		return Outcome{}, err
	}
	return Outcome{Done: true, OK: r.State == proto.StateComplete, Reason: whyEnded(r), Result: result, RequestID: r.ID}, nil
}

func whyEnded(r proto.Request) string {
	why := "request " + r.ID + " ended " + r.State.String()
	if r.Reason != "" {
		why += ": " + r.Reason
	}
	return why
}
