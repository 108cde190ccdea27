package job_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/job"
)

func TestRegisterRefusesMistakesOfTheProgram(t *testing.T) {
	t.Parallel()
	make := func() job.Job { return &plain{} }
	tests := []struct {
		name, jobType string
		make          func() job.Job
		says          string
	}{
		{"empty name", "", make, "is empty"},
		{"long name", strings.Repeat("x", 76), make, "has 76 bytes, and the limit is 75"},
		{"control character", "a\nb", make, "has control characters"},
		{"taken name", "team/taken", make, `"team/taken" is registered twice`},
		{"nothing to make it", "nil", nil, "no function"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := job.NewRegistry()
			r.Register("team/taken", make)
			defer func() {
				if got := fmt.Sprint(recover()); !strings.Contains(got, tt.says) {
					t.Errorf("panic %q, want it to say %q", got, tt.says)
				}
			}()
			r.Register(tt.jobType, tt.make)
		})
	}
}

func TestTypesAreKnownByName(t *testing.T) {
	t.Parallel()
	r := job.NewRegistry()
	for _, name := range []string{"b", "a", strings.Repeat("x", 75)} {
		r.Register(name, func() job.Job { return &plain{} })
	}
	if !r.Has("a") || r.Has("c") {
		t.Error("Has does not know what is registered")
	}
	if diff := cmp.Diff([]string{"a", "b", strings.Repeat("x", 75)}, r.Types()); diff != "" {
		t.Error(diff)
	}
}

// byValue is not a pointer, so nothing can be read into it.
type byValue struct{}

func (byValue) Run(context.Context, job.Values) (job.Result, error) { return job.Result{}, nil }

func TestTypesThatCannotBeMade(t *testing.T) {
	t.Parallel()
	r := job.NewRegistry()
	r.Register("none", func() job.Job { return nil })
	r.Register("value", func() job.Job { return byValue{} })
	r.Register("good", func() job.Job { return &plain{} })
	tests := []struct{ jobType, says string }{
		{"other", `job type "other" is not known to this program; it knows good, none, value`},
		{"none", "returned nil"},
		{"value", "return a pointer"},
	}
	for _, tt := range tests {
		_, createErr := r.Create(t.Context(), &job.Info{Type: tt.jobType}, nil)
		_, loadErr := r.Load(tt.jobType, nil)
		for _, err := range []error{createErr, loadErr} {
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s: got %v, want it to say %q", tt.jobType, err, tt.says)
			}
		}
	}
}
