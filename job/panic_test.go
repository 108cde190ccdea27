package job_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/treadle-run/treadle/job"
)

func TestPanicsAreErrorsWithTheStack(t *testing.T) {
	t.Parallel()
	boom := &stub{
		create:    func(context.Context, job.Values) error { panic("boom") },
		run:       func(context.Context, job.Values) (job.Result, error) { panic("boom") },
		marshal:   func() ([]byte, error) { panic("boom") },
		unmarshal: func([]byte) error { panic("boom") },
	}
	tests := []struct {
		call string
		do   func() error
	}{
		{"Create", func() error {
			_, err := registryOf(boom).Create(t.Context(), &job.Info{Type: "stub"}, nil)
			return err
		}},
		{"MarshalBinary", func() error {
			_, err := registryOf(&stub{marshal: boom.marshal}).Create(t.Context(), &job.Info{Type: "stub"}, nil)
			return err
		}},
		{"UnmarshalBinary", func() error {
			_, err := registryOf(boom).Load("stub", nil)
			return err
		}},
		{"Run", func() error {
			_, err := job.Run(t.Context(), boom, nil)
			return err
		}},
	}
	for _, tt := range tests {
		t.Run(tt.call, func(t *testing.T) {
			t.Parallel()
			err := tt.do()
			panicErr, ok := errors.AsType[*job.PanicError](err)
			if !ok {
				t.Fatalf("got %v, want a PanicError", err)
			}
			if want := "panic in " + tt.call + ": boom"; err.Error() != want {
				t.Errorf("got %q, want %q", err, want)
			}
			if !strings.Contains(string(panicErr.Stack), "panic_test.go") {
				t.Errorf("the stack does not lead to the panic:\n%s", panicErr.Stack)
			}
		})
	}
}

func TestAPanicInStatusIsShownAsTheStatus(t *testing.T) {
	t.Parallel()
	got := job.Status(&stub{status: func() string { panic("boom") }})
	if got != "panic in Status: boom" {
		t.Errorf("got %q", got)
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	if got := job.Status(&stub{status: func() string { return "half done" }}); got != "half done" {
		t.Errorf("got %q", got)
	}
	if got := job.Status(&plain{}); got != "" {
		t.Errorf("a job that cannot say has status %q", got)
	}
}

func TestRunGivesTheResultOfTheJob(t *testing.T) {
	t.Parallel()
	failure := errors.New("no")
	s := &stub{run: func(ctx context.Context, data job.Values) (job.Result, error) {
		return job.Result{Exit: data["exit"].(int64), Stdout: []byte(job.InfoOf(ctx).JobID)}, failure
	}}
	ctx := job.WithInfo(t.Context(), &job.Info{JobID: "j1"})
	res, err := job.Run(ctx, s, job.Values{"exit": int64(3)})
	if !errors.Is(err, failure) || res.Exit != 3 || string(res.Stdout) != "j1" {
		t.Errorf("got %+v, %v", res, err)
	}
}
