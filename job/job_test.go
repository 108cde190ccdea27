package job_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/job"
)

// stub is a job type whose calls do what a test says.
type stub struct {
	create    func(ctx context.Context, args job.Values) error
	run       func(ctx context.Context, data job.Values) (job.Result, error)
	status    func() string
	marshal   func() ([]byte, error)
	unmarshal func([]byte) error
}

func (s *stub) Create(ctx context.Context, args job.Values) error {
	if s.create == nil {
		return nil
	}
	return s.create(ctx, args)
}

func (s *stub) Run(ctx context.Context, data job.Values) (job.Result, error) {
	if s.run == nil {
		return job.Result{}, nil
	}
	return s.run(ctx, data)
}

func (s *stub) Status() string {
	if s.status == nil {
		return ""
	}
	return s.status()
}

func (s *stub) MarshalBinary() ([]byte, error) {
	if s.marshal == nil {
		return nil, nil
	}
	return s.marshal()
}

func (s *stub) UnmarshalBinary(b []byte) error {
	if s.unmarshal == nil {
		return nil
	}
	return s.unmarshal(b)
}

func registryOf(s *stub) *job.Registry {
	r := job.NewRegistry()
	r.Register("stub", func() job.Job { return s })
	return r
}

// plain has the least that a job type must have.
type plain struct {
	Host  string            `json:"host"`
	Port  int               `json:"port"`
	Tags  []string          `json:"tags"`
	Extra map[string]string `json:"extra"`
	inner
}

type inner struct {
	Deep bool `json:"deep"`
}

func (*plain) Run(context.Context, job.Values) (job.Result, error) { return job.Result{}, nil }

func plainRegistry() *job.Registry {
	r := job.NewRegistry()
	r.Register("plain", func() job.Job { return &plain{} })
	return r
}

func TestFieldsAreFilledFromArgs(t *testing.T) {
	t.Parallel()
	r := plainRegistry()
	args := job.Values{"host": "db1", "port": int64(3306), "tags": []any{"a", "b"}, "deep": true, "unrelated": 1.5}
	b, err := r.Create(t.Context(), &job.Info{Type: "plain"}, args)
	if err != nil {
		t.Fatal(err)
	}
	j, err := r.Load("plain", b)
	if err != nil {
		t.Fatal(err)
	}
	want := &plain{Host: "db1", Port: 3306, Tags: []string{"a", "b"}, inner: inner{Deep: true}}
	if diff := cmp.Diff(want, j, cmp.AllowUnexported(plain{})); diff != "" {
		t.Errorf("the job made anew differs (-want +got):\n%s", diff)
	}
}

func TestAnArgOfTheWrongTypeIsNamed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		args job.Values
		arg  string
		says string
	}{
		{"string for int", job.Values{"host": "db1", "port": "3306"}, "port", "expected int, got a JSON string"},
		{"fraction for int", job.Values{"port": 1.5}, "port", "expected int"},
		{"number for string", job.Values{"host": int64(1)}, "host", "expected string, got a JSON number"},
		{"number in a list", job.Values{"tags": []any{"a", int64(1)}}, "tags", "expected string"},
		{"number in an object", job.Values{"extra": map[string]any{"k": int64(1)}}, "extra", "expected string"},
		{"embedded field", job.Values{"deep": "yes"}, "deep", "expected bool"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := plainRegistry().Create(t.Context(), &job.Info{Type: "plain"}, tt.args)
			argErr, ok := errors.AsType[*job.ArgError](err)
			if !ok {
				t.Fatalf("got %v, want an ArgError", err)
			}
			if argErr.Arg != tt.arg || !strings.Contains(argErr.Message, tt.says) {
				t.Errorf("got %q, want arg %s and %q", err, tt.arg, tt.says)
			}
		})
	}
}

// upper refuses values by its own UnmarshalJSON.
type upper string

func (u *upper) UnmarshalJSON(b []byte) error {
	s := strings.Trim(string(b), `"`)
	if s != strings.ToUpper(s) {
		return errors.New("expected upper case")
	}
	*u = upper(s)
	return nil
}

type shouting struct {
	Word upper `json:"word"`
}

func (*shouting) Run(context.Context, job.Values) (job.Result, error) { return job.Result{}, nil }

func TestAnArgThatItsOwnTypeRefusesIsNamed(t *testing.T) {
	t.Parallel()
	r := job.NewRegistry()
	r.Register("shouting", func() job.Job { return &shouting{} })
	_, err := r.Create(t.Context(), &job.Info{Type: "shouting"}, job.Values{"other": "x", "word": "low"})
	if err == nil || err.Error() != "arg word: expected upper case" {
		t.Errorf("got %v", err)
	}
}

func TestCreateReadsAndSetsArgs(t *testing.T) {
	t.Parallel()
	info := &job.Info{RequestID: "r1", JobID: "j1", Name: "node", Type: "stub"}
	var seen job.Info
	r := registryOf(&stub{create: func(ctx context.Context, args job.Values) error {
		seen = job.InfoOf(ctx)
		args["out"] = args["in"]
		return nil
	}})
	args := job.Values{"in": int64(7)}
	if _, err := r.Create(t.Context(), info, args); err != nil {
		t.Fatal(err)
	}
	if args["out"] != int64(7) {
		t.Errorf("args after Create: %v", args)
	}
	if diff := cmp.Diff(*info, seen); diff != "" {
		t.Errorf("the context of Create says (-want +got):\n%s", diff)
	}
}

func TestAJobCanHaveASerialisationOfItsOwn(t *testing.T) {
	t.Parallel()
	var got []byte
	r := registryOf(&stub{
		marshal:   func() ([]byte, error) { return []byte{0, 0xff, 1}, nil },
		unmarshal: func(b []byte) error { got = b; return nil },
	})
	b, err := r.Create(t.Context(), &job.Info{Type: "stub"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Load("stub", b); err != nil {
		t.Fatal(err)
	}
	if string(got) != "\x00\xff\x01" {
		t.Errorf("UnmarshalBinary got %q", got)
	}
}

func TestAStoredFormThatDoesNotFit(t *testing.T) {
	t.Parallel()
	_, err := plainRegistry().Load("plain", []byte(`{"port": "x"}`))
	if err == nil || !strings.Contains(err.Error(), `job type "plain": its stored form does not fit`) {
		t.Errorf("got %v", err)
	}
	if _, err := plainRegistry().Load("plain", nil); err != nil {
		t.Errorf("without bytes a job is as it was made; got %v", err)
	}
}
