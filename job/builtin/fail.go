package builtin

import (
	"cmp"
	"context"
	"errors"

	"github.com/treadle-run/treadle/job"
)

const failMessage = "failed as it was told to"

// fail fails its first Times tries. Tries are counted over the whole request, so
// those before a stop or in an earlier run of the sequence count too.
type fail struct {
	Times   *uint  `json:"times,omitempty"` // nil: all
	Message string `json:"message,omitempty"`
}

// Declare makes it a job.Declarer.
func (*fail) Declare() job.Declaration {
	return job.Declaration{
		Doc:    "Fails, for trying out retries.",
		Repeat: job.RepeatSafe,
		Args: []job.Arg{
			{Name: "times", Type: job.Int, Min: new(int64(0)), Doc: "how many tries fail; without it, all"},
			{Name: "message", Type: job.String, Default: failMessage, Doc: "the error"},
		},
	}
}

// Run returns the message as its error as long as it is to fail.
func (f *fail) Run(ctx context.Context, _ job.Values) (job.Result, error) {
	if f.Times != nil && job.InfoOf(ctx).Try > *f.Times {
		return job.Result{}, nil
	}
	return job.Result{}, errors.New(cmp.Or(f.Message, failMessage))
}
