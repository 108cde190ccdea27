package cmd

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// outlive keeps a service alive when who reads its output goes away, as when the journal
// of the system restarts (SIGPIPE), and when the terminal that it was started at is
// closed (SIGHUP). The signals are caught and not ignored: commands would inherit that.
// They stay caught as long as the process lives.
func outlive() {
	caught := make(chan os.Signal, 1) // nobody reads it
	signal.Notify(caught, syscall.SIGPIPE)
	if !signal.Ignored(syscall.SIGHUP) {
		signal.Notify(caught, syscall.SIGHUP)
	}
}

// untilHangup returns a context that also ends when the terminal is closed, unless that
// is ignored, as with nohup.
func untilHangup(ctx context.Context) (context.Context, context.CancelFunc) {
	if signal.Ignored(syscall.SIGHUP) {
		return context.WithCancel(ctx)
	}
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}
