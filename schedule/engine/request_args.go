package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/proto"
)

const (
	// maxData bounds the data of a result, in bytes of JSON.
	maxData = 16 << 10
	// maxDataJobs is how many jobs a request may have whose log is read for its data.
	maxDataJobs = 2000
)

// request is the request that an instance makes: with the args that the app gives,
// and those that it has to give and the request asks for. Of an undo request, which
// gets the args of the app too, these are only those that it declares.
func (h *RequestHook) request(app proto.App, in proto.Instance, name string) (proto.CreateRequest, error) {
	c := proto.CreateRequest{Type: name, Args: proto.Values{}, Host: in.Host}
	declared := h.declared[name]
	for arg, v := range app.Args {
		if name == app.Request || declared[arg] {
			c.Args[arg] = v
		}
	}
	auto, err := autoArgs(app, in)
	if err != nil {
		return c, err
	}
	for arg, v := range auto {
		if _, given := app.Args[arg]; !given && declared[arg] {
			c.Args[arg] = v
		}
	}
	return c, nil
}

// autoArgs are the args that every instance can give.
func autoArgs(app proto.App, in proto.Instance) (map[string]any, error) {
	zone := time.UTC
	if cal, err := calendar.New(app); err == nil {
		zone = cal.Location()
	}
	conf := any(map[string]any{})
	if len(in.Conf) > 0 {
		var err error
		if conf, err = proto.DecodeValue(in.Conf); err != nil {
			return nil, fmt.Errorf("conf of %s: %w", in.Name, err)
		}
	}
	return map[string]any{
		"conf":        conf,
		"instance":    in.Name,
		"periodStart": in.PeriodStart.In(zone).Format(time.RFC3339Nano),
		"periodEnd":   in.PeriodEnd.In(zone).Format(time.RFC3339Nano),
	}, nil
}

// requestResult is the result of an instance: what its dependents get of it.
type requestResult struct {
	RequestID  string     `json:"requestId"`
	State      string     `json:"state"`
	StartedAt  *time.Time `json:"startedAt,omitempty"`
	FinishedAt *time.Time `json:"finishedAt,omitempty"`
	// Data is what the jobs of the request set, the last value of each name.
	Data        json.RawMessage `json:"data,omitempty"`
	DataOmitted bool            `json:"dataOmitted,omitempty"` // it is too large
}

func (h *RequestHook) result(ctx context.Context, r proto.Request) (json.RawMessage, error) {
	res := requestResult{RequestID: r.ID, State: r.State.String(), StartedAt: r.StartedAt, FinishedAt: r.FinishedAt}
	switch {
	case r.State != proto.StateComplete:
	case r.TotalJobs > maxDataJobs:
		res.DataOmitted = true
	default:
		log, err := h.requests.Log(ctx, r.ID)
		if err != nil {
			return nil, err
		}
		data := proto.Values{}
		for _, entry := range log {
			if entry.State != proto.StateComplete {
				continue
			}
			for name, v := range entry.Data {
				data[name] = v
			}
		}
		if len(data) > 0 {
			if res.Data, err = json.Marshal(data); err != nil {
				return nil, fmt.Errorf("data of request %s: %w", r.ID, err)
			}
		}
		if len(res.Data) > maxData {
			res.Data, res.DataOmitted = nil, true
		}
	}
	return json.Marshal(res)
}

func asError(err error) *proto.Error {
	e, _ := errors.AsType[*proto.Error](err)
	return e
}

// isFinal reports whether a request cannot be made, now or later.
func isFinal(e *proto.Error) bool {
	if e == nil {
		return false
	}
	switch e.Code {
	case proto.CodeInvalid, proto.CodeNotFound, proto.CodeTooLarge, proto.CodeUnprocessable:
		return true
	}
	return false
}
