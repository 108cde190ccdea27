// Package httpserve listens and serves a handler until it is told to end: what
// both services do alike.
package httpserve

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"
)

// The limits of a server that has to live with slow and broken peers.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	// silentGrace is how long, at the end, a connection that has not said anything
	// yet may take to start.
	silentGrace = 250 * time.Millisecond
)

// Listen listens at a TCP address, with TLS if it is not nil. A busy port is said
// as such.
func Listen(addr string, t *tls.Config) (net.Listener, error) {
	ln, err := net.Listen("tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("%s is in use: another process listens there", addr)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot listen at %s: %w", addr, err)
	}
	if t != nil {
		ln = tls.NewListener(ln, t)
	}
	return ln, nil
}

// Serve serves the handler until ctx ends, then lets calls end for up to grace. Bodies
// that come too slowly are an ErrSlowBody for who reads them.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, grace time.Duration, log *slog.Logger) error {
	var fresh silentConns
	srv := &http.Server{
		Handler:           defaultPace.Handler(h),
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
		ConnState:         fresh.follow,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving at %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	silent := time.AfterFunc(silentGrace, fresh.close)
	defer silent.Stop()
	if err := srv.Shutdown(ctx); err != nil {
		log.Warn("closing connections whose calls did not complete in time", "error", err)
		err = srv.Close()
		<-failed
		return err
	}
	<-failed
	return nil
}

// silentConns are the connections that nothing came through yet. The pool of a
// client may open some that it does not need in the end, and Shutdown would wait
// for each of them for seconds.
type silentConns struct {
	mu    sync.Mutex
	conns map[net.Conn]bool
}

// follow is the ConnState of a server.
func (s *silentConns) follow(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if state != http.StateNew {
		delete(s.conns, c)
		return
	}
	if s.conns == nil {
		s.conns = map[net.Conn]bool{}
	}
	s.conns[c] = true
}

func (s *silentConns) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close() // nobody is there to tell
	}
}
