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

// archive declares its args and needs no code to check or read them: its fields are
// set from them, with defaults.
type archive struct {
	Files []string `json:"files"`
	Level int      `json:"level"`
}

// Declare is what lint, forms and `treadle job-types` know of the type.
func (*archive) Declare() job.Declaration {
	return job.Declaration{
		Doc:    "Makes an archive of files.",
		Repeat: job.RepeatSafe,
		Args: []job.Arg{
			{Name: "files", Type: job.List, Required: true, Doc: "the files to archive"},
			{Name: "level", Type: job.Int, Min: new(int64(1)), Max: new(int64(9)), Default: 6, Doc: "how hard to compress"},
		},
	}
}

// Run does one try.
func (a *archive) Run(context.Context, job.Values) (job.Result, error) {
	return job.Result{Stdout: fmt.Appendf(nil, "%d files, level %d\n", len(a.Files), a.Level)}, nil
}

// Args that do not fit the declaration are refused in the specs, and when a request is
// created.
func ExampleDeclarer() {
	types := job.NewRegistry()
	types.Register("archive", func() job.Job { return &archive{} })

	ctx := context.Background()
	_, err := types.Create(ctx, &job.Info{Type: "archive"}, job.Values{"files": "a b"})
	fmt.Println(err)
	_, err = types.Create(ctx, &job.Info{Type: "archive"}, job.Values{"files": []any{"a"}, "level": int64(10)})
	fmt.Println(err)

	stored, err := types.Create(ctx, &job.Info{Type: "archive"}, job.Values{"files": []any{"a", "b"}})
	if err != nil {
		panic(err)
	}
	j, err := types.Load("archive", stored)
	if err != nil {
		panic(err)
	}
	result, err := job.Run(ctx, j, nil)
	fmt.Printf("%s%v\n", result.Stdout, err)
	// Output:
	// arg files: expected a list, got the string "a b"
	// arg level: expected a whole number from 1 to 9, got the number 10
	// 2 files, level 6
	// <nil>
}
