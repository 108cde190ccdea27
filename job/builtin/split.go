package builtin

import (
	"context"
	"strings"

	"github.com/treadle-run/treadle/job"
)

// split makes a list of a string when a request is created, for an `each` that
// comes after it. It does nothing when it runs.
type split struct{}

// Declare makes it a job.Declarer.
func (*split) Declare() job.Declaration {
	return job.Declaration{
		Doc:    "Splits a string into a list when the request is created, for the `each` of a later node. It does nothing when it runs.",
		Repeat: job.RepeatSafe,
		Args: []job.Arg{
			{Name: "string", Type: job.String, Required: true, Empty: true, Doc: "the string to split; the empty string gives the empty list"},
			{Name: "separator", Type: job.String, Default: ",", Empty: true, Doc: "what stands between elements"},
		},
		Sets: []job.Arg{{Name: "list", Type: job.List, Doc: "the list of strings; they are not trimmed"}},
		Check: func(args job.Values) error {
			if args["separator"] == "" {
				return job.ArgErrorf("separator", "expected at least one character, got the empty string")
			}
			return nil
		},
	}
}

// Create sets `list`.
func (*split) Create(_ context.Context, args job.Values) error {
	s, _ := args["string"].(string)
	separator, _ := args["separator"].(string)
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
