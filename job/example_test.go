package job_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/treadle-run/treadle/job"
)

// checksum is a job type. Its fields are set from the args of the node, by their
// JSON names, and are stored with the job until it runs.
type checksum struct {
	Path string `json:"path"`
}

// Run does one try. What it puts into Data is given to all jobs after it.
func (c *checksum) Run(_ context.Context, _ job.Values) (job.Result, error) {
	b, err := os.ReadFile(c.Path)
	if err != nil {
		return job.Result{Exit: 1, Stderr: []byte(err.Error())}, err
	}
	sum := 0
	for _, x := range b {
		sum += int(x)
	}
	return job.Result{Stdout: fmt.Appendf(nil, "read %d bytes\n", len(b)), Data: job.Values{"sum": sum}}, nil
}

// A job type is registered once, and made anew for each try: Create when a request
// is created, Load and Run on the Job Runner.
func ExampleRegistry() {
	file, err := os.CreateTemp("", "")
	if err != nil {
		panic(err)
	}
	defer os.Remove(file.Name())
	if _, err := file.WriteString("abc"); err != nil {
		panic(err)
	}

	types := job.NewRegistry()
	types.Register("checksum", func() job.Job { return &checksum{} })

	ctx := context.Background()
	stored, err := types.Create(ctx, &job.Info{Type: "checksum"}, job.Values{"path": file.Name()})
	if err != nil {
		panic(err)
	}
	j, err := types.Load("checksum", stored)
	if err != nil {
		panic(err)
	}
	result, err := job.Run(ctx, j, nil)
	fmt.Printf("%s%v %v\n", result.Stdout, result.Data, err)
	// Output:
	// read 3 bytes
	// map[sum:294] <nil>
}

// greet checks its args when the request is created.
type greet struct {
	Names []string
}

// Create reads the args itself, and sets one for the `sets` of its node.
func (g *greet) Create(_ context.Context, args job.Values) error {
	names, _ := args["names"].(string)
	if g.Names = strings.Fields(names); len(g.Names) == 0 {
		return job.ArgErrorf("names", "expected names with spaces between them, got %q", names)
	}
	args["count"] = len(g.Names)
	return nil
}

// Run stops early when its context ends: the request was stopped, or the runner
// shuts down.
func (g *greet) Run(ctx context.Context, _ job.Values) (job.Result, error) {
	var out strings.Builder
	for _, name := range g.Names {
		if ctx.Err() != nil {
			return job.Result{Stdout: []byte(out.String())}, context.Cause(ctx)
		}
		fmt.Fprintf(&out, "hello %s, try %d\n", name, job.InfoOf(ctx).Try)
	}
	return job.Result{Stdout: []byte(out.String())}, nil
}

// A mistake in an arg is refused when the request is created, by the name of the arg.
func ExampleCreator() {
	types := job.NewRegistry()
	types.Register("team/greet", func() job.Job { return &greet{} })

	ctx := context.Background()
	_, err := types.Create(ctx, &job.Info{Type: "team/greet"}, job.Values{"names": " "})
	wrong, ok := errors.AsType[*job.ArgError](err)
	fmt.Println(ok, wrong)

	args := job.Values{"names": "Ada Bob"}
	stored, err := types.Create(ctx, &job.Info{Type: "team/greet"}, args)
	fmt.Println(args["count"], err)

	j, err := types.Load("team/greet", stored)
	if err != nil {
		panic(err)
	}
	result, err := j.Run(job.WithInfo(ctx, &job.Info{Try: 2}), nil)
	fmt.Printf("%s%v\n", result.Stdout, err)
	// Output:
	// true arg names: expected names with spaces between them, got " "
	// 2 <nil>
	// hello Ada, try 2
	// hello Bob, try 2
	// <nil>
}
