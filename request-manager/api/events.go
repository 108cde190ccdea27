package api

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/treadle-run/treadle/internal/httpjson"
	"github.com/treadle-run/treadle/proto"
)

// Watcher is a request whose changes can be waited for.
type Watcher interface {
	Get(ctx context.Context, id string) (proto.Request, error)
	// Changed returns a channel that is sent to or closed when the request may have
	// changed, and a function that releases it.
	Changed(id string) (<-chan struct{}, func())
}

// writeTimeout is how long a watcher may take to receive one event; one that does
// not read would hold its place for ever.
const writeTimeout = 30 * time.Second

// watchRequest streams the request, first as it is and then whenever it changed,
// as server-sent events named "request", until it has ended.
func (s *server) watchRequest(c echo.Context) error {
	id, err := httpjson.RequestID(c)
	if err != nil {
		return err
	}
	select {
	case s.watchers <- struct{}{}:
		defer func() { <-s.watchers }()
	default:
		return &proto.Error{Code: proto.CodeUnavailable, Message: "too many event streams are open: try again later", RetryAfter: 5 * time.Second}
	}
	changed, release := s.watcher.Changed(id) // before the first read, so that no change is missed
	defer func() { release() }()
	first, err := s.watcher.Get(c.Request().Context(), id)
	if err != nil {
		return err
	}
	w := newEventWriter(c)
	defer w.end()
	if done, err := w.request(first); done || err != nil {
		return s.lost(id, err)
	}

	poll, beat := time.NewTicker(s.poll), time.NewTicker(s.beat)
	defer poll.Stop()
	defer beat.Stop()
	for {
		select {
		case <-c.Request().Context().Done():
			return nil
		case <-s.cfg.Closing:
			return nil
		case <-beat.C:
			if err := w.comment("alive"); err != nil {
				return s.lost(id, err)
			}
			continue
		case _, sent := <-changed:
			if !sent { // closed: the watch has ended
				release()
				changed, release = s.watcher.Changed(id)
			}
		case <-poll.C:
		}
		done, err := s.sendChange(c, w, id)
		if done || err != nil {
			return s.lost(id, err)
		}
	}
}

// sendChange sends the request if it changed and reports whether the stream has
// come to its end. A read that fails for now is repeated later.
func (s *server) sendChange(c echo.Context, w *eventWriter, id string) (bool, error) {
	req, err := s.watcher.Get(c.Request().Context(), id)
	switch {
	case err == nil:
		return w.request(req)
	case proto.ErrorCode(err) == proto.CodeNotFound:
		return true, nil
	}
	s.log.Debug("an event stream cannot read its request", "request", id, "err", err)
	return false, nil
}

// lost ends a stream. The answer has started, so an error can only be logged.
func (s *server) lost(id string, err error) error {
	if err != nil {
		s.log.Debug("an event stream ended early", "request", id, "err", err)
	}
	return nil
}

// eventWriter writes server-sent events.
type eventWriter struct {
	response *echo.Response
	control  *http.ResponseController
	last     []byte // the last request sent
}

func newEventWriter(c echo.Context) *eventWriter {
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, httpjson.EventStream)
	h.Set(echo.HeaderCacheControl, "no-store")
	h.Set("X-Accel-Buffering", "no") // a proxy that gathers would hold events back
	c.Response().WriteHeader(http.StatusOK)
	return &eventWriter{response: c.Response(), control: http.NewResponseController(c.Response().Writer)}
}

// request sends the request unless it is as it was, and reports whether it has
// ended.
func (w *eventWriter) request(r proto.Request) (bool, error) {
	r.JobChain = nil
	data, err := json.Marshal(r)
	if err != nil {
		return false, err
	}
	if bytes.Equal(data, w.last) {
		return r.State.Final(), nil
	}
	w.last = data
	return r.State.Final(), w.send([]byte("event: request\ndata: "), data, []byte("\n\n"))
}

// end takes the deadline off a connection that may serve more calls.
func (w *eventWriter) end() {
	_ = w.control.SetWriteDeadline(time.Time{}) // as in send
}

// comment sends a line that clients ignore.
func (w *eventWriter) comment(text string) error {
	return w.send([]byte(": " + text + "\n\n"))
}

func (w *eventWriter) send(parts ...[]byte) error {
	// Not every ResponseWriter has deadlines; without one the server's own holds.
	_ = w.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	for _, p := range parts {
		if _, err := w.response.Write(p); err != nil {
			return err
		}
	}
	return w.control.Flush()
}
