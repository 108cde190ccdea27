package builtin

import (
	"context"
	"strings"

	"github.com/treadle-run/treadle/job"
)

// split makes a list of a string when a request is created, for an `each` that
// comes after it. It does nothing when it runs.
type split struct{}

// Create reads the args `string` and `separator` (default ",") and sets `list`.
// The empty string gives the empty list; elements are not trimmed.
func (*split) Create(_ context.Context, args job.Values) error {
	if _, ok := args["string"]; !ok {
		return job.ArgErrorf("string", "expected a string to split, got nothing")
	}
	s, err := stringArg(args, "string")
	if err != nil {
		return err
	}
	if args["separator"] == "" {
		return job.ArgErrorf("separator", "expected at least one character, got the empty string")
	}
	separator, err := stringArg(args, "separator")
	if err != nil {
		return err
	}
	if separator == "" {
		separator = ","
	}
	list := []any{}
	if s != "" {
		for part := range strings.SplitSeq(s, separator) {
			list = append(list, part)
		}
	}
	args["list"] = list
	return nil
}

// Run does nothing.
func (*split) Run(context.Context, job.Values) (job.Result, error) { return job.Result{}, nil }
