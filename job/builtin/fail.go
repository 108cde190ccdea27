package builtin

import (
	"context"
	"errors"
	"math"

	"github.com/treadle-run/treadle/job"
)

// fail fails its first Times tries. Tries are counted over the whole request, so
// those before a stop or in an earlier run of the sequence count too.
type fail struct {
	Times   uint   `json:"times"`
	Message string `json:"message,omitempty"`
}

// Create reads the optional args `times` (default: every try fails) and `message`.
func (f *fail) Create(_ context.Context, args job.Values) error {
	var err error
	if f.Times, err = countArg(args, "times", math.MaxUint32); err != nil {
		return err
	}
	f.Message, err = stringArg(args, "message")
	return err
}

// Run returns the message as its error as long as it is to fail.
func (f *fail) Run(ctx context.Context, _ job.Values) (job.Result, error) {
	if job.InfoOf(ctx).Try > f.Times {
		return job.Result{}, nil
	}
	if f.Message == "" {
		return job.Result{}, errors.New("failed as it was told to")
	}
	return job.Result{}, errors.New(f.Message)
}
