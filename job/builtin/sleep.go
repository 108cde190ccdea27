package builtin

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// sleep waits for Duration. A try that was stopped starts from the beginning.
type sleep struct {
	Duration proto.Duration `json:"duration"`

	until atomic.Int64 // when the wait is over, in Unix nanoseconds; 0 before it starts
}

// Declare makes it a job.Declarer.
func (*sleep) Declare() job.Declaration {
	return job.Declaration{
		Doc:    "Waits.",
		Repeat: job.RepeatSafe,
		Args: []job.Arg{
			{Name: "duration", Type: job.Duration, Required: true, Doc: "how long, such as `1.5s` or `10m`"},
		},
	}
}

// Create keeps the duration. A request may have a hundred thousand of these, and to
// fill the field by its JSON name takes three times as long.
func (s *sleep) Create(_ context.Context, args job.Values) error {
	text, _ := args["duration"].(string)
	d, err := time.ParseDuration(text)
	s.Duration = proto.Duration(d)
	return err
}

// Sleep makes it a job.Sleeper.
func (s *sleep) Sleep() time.Duration {
	d := time.Duration(s.Duration)
	s.until.Store(time.Now().Add(d).UnixNano())
	return d
}

// Run waits, and returns the cause if ctx ends before.
func (s *sleep) Run(ctx context.Context, _ job.Values) (job.Result, error) {
	timer := time.NewTimer(s.Sleep())
	defer timer.Stop()
	select {
	case <-timer.C:
		return job.Result{}, nil
	case <-ctx.Done():
		return job.Result{}, context.Cause(ctx)
	}
}

// Status says how much of the time is left.
func (s *sleep) Status() string {
	until := s.until.Load()
	if until == 0 {
		return ""
	}
	left := max(time.Until(time.Unix(0, until)), 0)
	unit := time.Second
	if left < 10*time.Second {
		unit = 100 * time.Millisecond
	}
	return left.Round(unit).String() + " left"
}
