package builtin

import (
	"context"
	"maps"

	"github.com/treadle-run/treadle/job"
)

// shell runs a script with /bin/sh. Args and job data reach it as variables of
// its environment and never become part of its text.
type shell struct {
	program
}

// Create checks the args: `script`, optional `dir` and `grace`; every other one
// must be one that can be a variable.
func (s *shell) Create(_ context.Context, args job.Values) error {
	_, err := s.parse(args)
	return err
}

// Run runs the script. It fails with any exit code but 0.
func (s *shell) Run(ctx context.Context, data job.Values) (job.Result, error) {
	script, err := s.parse(job.InfoOf(ctx).Args)
	if err != nil {
		return job.Result{}, err
	}
	return s.run(ctx, []string{"/bin/sh", "-c", "--", script}, data)
}

// parse reads the args, and returns the script.
func (s *shell) parse(args job.Values) (string, error) {
	args = maps.Clone(args)
	script, err := stringArg(args, "script")
	if err != nil {
		return "", err
	}
	if script == "" {
		return "", job.ArgErrorf("script", "expected a script for /bin/sh, got nothing")
	}
	if err := checkVariables(args, true); err != nil {
		return "", err
	}
	delete(args, "script")
	return script, s.configure(args)
}

// MarshalBinary returns nothing: all that the job needs is in its args.
func (s *shell) MarshalBinary() ([]byte, error) { return nil, nil }

// UnmarshalBinary takes what MarshalBinary returns.
func (s *shell) UnmarshalBinary([]byte) error { return nil }
