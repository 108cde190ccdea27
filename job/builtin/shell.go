package builtin

import (
	"context"

	"github.com/treadle-run/treadle/job"
)

// shell runs a script with /bin/sh. Args and job data reach it as variables of
// its environment and never become part of its text.
type shell struct {
	program
}

var shellDeclaration = job.Declaration{
	Doc:    "Runs a script with `/bin/sh`.",
	Repeat: job.RepeatDepends,
	Args: append([]job.Arg{
		{Name: "script", Type: job.String, Required: true, Doc: "the script; up to 128 KiB"},
	}, programArgs...),
	Others: "are variables of the environment by their names",
	Check:  func(args job.Values) error { return checkVariables(args, true) },
}

// Declare makes it a job.Declarer.
func (*shell) Declare() job.Declaration { return shellDeclaration }

// Create has nothing to do: the args have been checked, and it keeps none.
func (*shell) Create(context.Context, job.Values) error { return nil }

// Run runs the script. It fails with any exit code but 0.
func (s *shell) Run(ctx context.Context, data job.Values) (job.Result, error) {
	args, err := shellDeclaration.Accept(job.InfoOf(ctx).Args)
	if err != nil {
		return job.Result{}, err
	}
	script, _ := args["script"].(string)
	delete(args, "script")
	s.configure(args)
	return s.run(ctx, []string{"/bin/sh", "-c", "--", script}, data)
}

// MarshalBinary returns nothing: all that the job needs is in its args.
func (s *shell) MarshalBinary() ([]byte, error) { return nil, nil }

// UnmarshalBinary takes what MarshalBinary returns.
func (s *shell) UnmarshalBinary([]byte) error { return nil }
