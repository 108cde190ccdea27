package cmd_test

import (
	"context"
	"fmt"

	"github.com/treadle-run/treadle/cmd"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/job/builtin"
)

// greet is a job type of the user's: it prints a greeting.
type greet struct {
	Name string
}

func (g *greet) Create(_ context.Context, args job.Values) error {
	name, ok := args["name"].(string)
	if !ok {
		return job.ArgErrorf("name", "expected a text, got %v", args["name"])
	}
	g.Name = name
	return nil
}

func (g *greet) Run(context.Context, job.Values) (job.Result, error) {
	return job.Result{Stdout: fmt.Appendf(nil, "Hello, %s.\n", g.Name)}, nil
}

// The main function of a program with all verbs and services of treadle, and one more
// job type. Main does not return.
func ExampleMain() {
	r := builtin.Registry()
	r.Register("greet", func() job.Job { return new(greet) })
	cmd.Main(r)
}
