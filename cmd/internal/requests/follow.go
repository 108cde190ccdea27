package requests

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

const (
	// lookEvery is how often the running jobs are asked for.
	lookEvery = time.Second
	// patience is how long a Request Manager may be unavailable before the waiting
	// ends. A restart takes less.
	patience = 2 * time.Minute
	// namesShown is how many running jobs one line names.
	namesShown = 3
)

// update is what happened to a request that is followed: it changed, or the
// Request Manager is unavailable.
type update struct {
	request proto.Request
	err     error // that the Request Manager is unavailable
}

// follow shows progress of the request until it is in a final state, and returns it. A
// Request Manager that is unavailable for a while does not end it.
func follow(ctx context.Context, out *term.Out, api *client.Client, id string, show *term.Progress) (proto.Request, error) {
	ctx, cancel := context.WithCancel(ctx)
	events := make(chan update)
	ended := make(chan error, 1)
	go func() { ended <- watchOn(ctx, out, api, id, events) }()
	look := time.NewTicker(lookEvery)
	defer look.Stop()

	var r proto.Request
	var running []string
	for !r.State.Final() {
		select {
		case n := <-events:
			if n.err != nil {
				show.Note("%s; trying again", term.Clean(verb.Message(n.err)))
				continue
			}
			if n.request.State != proto.StateRunning || n.request.FinishedJobs != r.FinishedJobs {
				running = nil // until the next look
			}
			r = n.request
		case <-look.C:
			if r.State == proto.StateRunning {
				running = runningNames(ctx, out, api, id, show.Redraws(), running)
			}
		case err := <-ended:
			cancel()
			return r, err
		}
		if r.ID != "" && !r.State.Final() {
			show.Show(line(r, running))
		}
	}
	cancel()
	<-ended // it was told to end, and says so
	return r, nil
}

// watchOn sends updates of the request to events until ctx ends. It reconnects when the
// connection is lost.
func watchOn(ctx context.Context, out *term.Out, api *client.Client, id string, events chan<- update) error {
	send := func(u update) error {
		select {
		case events <- u:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	seen, said := out.Now(), false
	for {
		err := api.Watch(ctx, id, func(r proto.Request) error {
			seen, said = out.Now(), false
			return send(update{request: r})
		})
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil && (proto.ErrorCode(err) != proto.CodeUnavailable || out.Now().Sub(seen) > patience) {
			return err
		}
		if err != nil && !said {
			said = true
			if err := send(update{err: err}); err != nil {
				return err
			}
		}
		if err := wait.For(ctx, lookEvery); err != nil {
			return err
		}
	}
}

// runningNames returns the names of the running jobs, with the status of each if
// status is set: that is for a terminal, where a change costs no line. If the running
// jobs are unavailable it returns before: that is no reason to stop waiting.
func runningNames(ctx context.Context, out *term.Out, api *client.Client, id string, status bool, before []string) []string {
	s, err := api.Running(ctx, id, "")
	if err != nil {
		return before
	}
	names := make([]string, len(s.Jobs))
	for i, j := range s.Jobs {
		names[i] = term.Clean(j.Name)
		if status && j.Status != "" {
			names[i] += " (" + term.Clean(term.Short(j.Status, 40)) + ")"
		}
	}
	return names
}

// line is one line about a request that is not final: "RUNNING 3/12 jobs, now:
// copy, check and 2 more".
func line(r proto.Request, running []string) string {
	s := fmt.Sprintf("%s %s jobs", r.State, jobs(r))
	if r.StopRequested {
		s += ", stopping"
	}
	if len(running) == 0 {
		return s
	}
	if more := len(running) - namesShown; more > 0 {
		return fmt.Sprintf("%s, now: %s and %d more", s, strings.Join(running[:namesShown], ", "), more)
	}
	return s + ", now: " + strings.Join(running, ", ")
}
