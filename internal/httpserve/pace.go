package httpserve

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"
)

// Pace bounds how long a caller may take to send a body. Else whoever declares a
// body and sends no more than its start holds a connection, and memory, for ever.
type Pace struct {
	// Grace is for how long a body may take, whatever its size. Beyond that it must
	// come at Rate, in bytes per second, on the whole.
	Grace time.Duration
	Rate  int64
	// Silence is for how long nothing may come.
	Silence time.Duration
}

// defaultPace is that of a slow line: 16 KiB per second.
var defaultPace = Pace{Grace: 20 * time.Second, Rate: 16 << 10, Silence: 10 * time.Second}

// ErrSlowBody is the error of reading a body that comes too slowly.
var ErrSlowBody = errors.New("the body came too slowly")

// Handler returns h with bodies that must come at the pace.
func (p Pace) Handler(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			h.ServeHTTP(w, r)
			return
		}
		body := &pacedBody{ReadCloser: r.Body, conn: http.NewResponseController(w), pace: p, start: time.Now()}
		// Also for a handler that does not read it: the server does so after it.
		body.setDeadline()
		r.Body = body
		h.ServeHTTP(w, r)
	})
}

// pacedBody is a body whose every read has a deadline.
type pacedBody struct {
	io.ReadCloser
	conn  *http.ResponseController
	pace  Pace
	start time.Time
	n     int64 // bytes so far
}

// Read reads as much as has come.
func (b *pacedBody) Read(p []byte) (int, error) {
	b.setDeadline()
	n, err := b.ReadCloser.Read(p)
	b.n += int64(n)
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		err = ErrSlowBody
	case err != nil:
		// All is there: the deadline must not end the call while it is worked on.
		_ = b.conn.SetReadDeadline(time.Time{}) // one that cannot be set was not set
	}
	return n, err
}

func (b *pacedBody) setDeadline() {
	latest := b.start.Add(b.pace.Grace + time.Duration(b.n/b.pace.Rate)*time.Second)
	if silent := time.Now().Add(b.pace.Silence); silent.Before(latest) {
		latest = silent
	}
	_ = b.conn.SetReadDeadline(latest) // a connection that has none is not a network's
}
