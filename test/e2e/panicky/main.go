// Command panicky is a treadle with job types that panic, as a user's own may.
package main

import (
	"context"

	"github.com/treadle-run/treadle/cmd"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/job/builtin"
)

type panics struct{}

func (*panics) Run(context.Context, job.Values) (job.Result, error) { panic("out of luck") }

type panicsAtCreation struct{ panics }

func (*panicsAtCreation) Create(context.Context, job.Values) error { panic("out of luck") }

func main() {
	registry := builtin.Registry()
	registry.Register("panic", func() job.Job { return &panics{} })
	registry.Register("panic-create", func() job.Job { return &panicsAtCreation{} })
	cmd.Main(registry)
}
