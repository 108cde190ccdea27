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
	"syscall"
	"time"
)

// The limits of a server that has to live with slow and broken peers.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
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

// Serve serves the handler until ctx ends, then lets calls end for up to grace.
func Serve(ctx context.Context, ln net.Listener, h http.Handler, grace time.Duration, log *slog.Logger) error {
	srv := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		IdleTimeout:       idleTimeout,
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
	if err := srv.Shutdown(ctx); err != nil {
		log.Warn("calls that did not end in time are cut", "error", err)
		err = srv.Close()
		<-failed
		return err
	}
	<-failed
	return nil
}
