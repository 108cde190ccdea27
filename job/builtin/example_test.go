package builtin_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/job/builtin"
)

// deploy is a job type of a program's own.
type deploy struct {
	App string `json:"app"`
}

func (d *deploy) Run(context.Context, job.Values) (job.Result, error) {
	return job.Result{Stdout: []byte("deployed " + d.App)}, nil
}

// A program with job types of its own has those that come with Treadle beside them.
func ExampleRegistry() {
	types := builtin.Registry()
	types.Register("deploy", func() job.Job { return &deploy{} })
	fmt.Println(strings.Join(types.Types(), " "))
	// Output: command deploy fail noop shell sleep split
}

// In a test of a job type, a script runs as it does on a Job Runner: args are
// variables of its environment, and what it writes to the file that $TREADLE_OUTPUT
// names becomes job data.
func ExampleRegister() {
	types := job.NewRegistry()
	builtin.Register(types)

	info := &job.Info{RequestID: "r", JobID: "j", Type: "shell", Try: 1, Args: job.Values{
		"script": `echo "hello $name"; echo "length=${#name}" >"$TREADLE_OUTPUT"`,
		"name":   "Ada",
	}}
	ctx := context.Background()
	stored, err := types.Create(ctx, info, info.Args)
	if err != nil {
		panic(err)
	}
	j, err := types.Load("shell", stored)
	if err != nil {
		panic(err)
	}
	result, err := job.Run(job.WithInfo(ctx, info), j, nil)
	fmt.Printf("%s%v %v\n", result.Stdout, result.Data, err)
	// Output:
	// hello Ada
	// map[length:3] <nil>
}
