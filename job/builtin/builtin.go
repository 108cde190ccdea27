// Package builtin holds the job types that come with Treadle: noop, sleep, fail,
// split, shell and command. docs/jobs.md says what each is for and which args it
// takes.
//
// A job type here declares its args, so that a mistake is found in the specs, or ends
// the creation of the request and not the request. The two that run programs read
// them when they run, from job.InfoOf: their stored form is empty, and so no secret is
// in it.
package builtin

import (
	"context"

	"github.com/treadle-run/treadle/job"
)

// Registry returns a new registry that knows the built-in job types.
func Registry() *job.Registry {
	r := job.NewRegistry()
	Register(r)
	return r
}

// Register adds the built-in job types to r. It panics if r has one of their
// names already.
func Register(r *job.Registry) {
	r.Register("noop", func() job.Job { return &noop{} })
	r.Register("sleep", func() job.Job { return &sleep{} })
	r.Register("fail", func() job.Job { return &fail{} })
	r.Register("split", func() job.Job { return &split{} })
	r.Register("shell", func() job.Job { return &shell{} })
	r.Register("command", func() job.Job { return &command{} })
}

// noop does nothing, and succeeds even if its ctx has ended.
type noop struct{}

// Declare makes it a job.Declarer.
func (*noop) Declare() job.Declaration {
	return job.Declaration{Doc: "Does nothing and succeeds.", Repeat: job.RepeatSafe, Others: "have no effect"}
}

// Create takes any args.
func (*noop) Create(context.Context, job.Values) error { return nil }

// Run returns at once.
func (*noop) Run(context.Context, job.Values) (job.Result, error) { return job.Result{}, nil }
