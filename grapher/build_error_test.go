package grapher

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/treadle-run/treadle/grapher/spec"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

func TestBuildSaysWhatIsWrongAndWhere(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		sequences []*spec.Sequence
		args      proto.Values
		want      string
	}{
		{
			name:      "a job that cannot be created",
			sequences: []*spec.Sequence{seq("main", jobNode("a", "broken"))},
			want:      "sequence main, node a (main.yaml:10): job type broken: the disk is full",
		},
		{
			name:      "a bad arg of a job",
			sequences: []*spec.Sequence{seq("main", jobNode("a", "upper", given("text=t")))},
			args:      proto.Values{"t": int64(3)},
			want:      "sequence main, node a (main.yaml:10): job type upper: arg text: expected a string, got 3",
		},
		{
			name:      "a job that panics",
			sequences: []*spec.Sequence{seq("main", jobNode("a", "panics"))},
			want:      "sequence main, node a (main.yaml:10): job type panics panicked when its job was created",
		},
		{
			name:      "a job type that nobody registered",
			sequences: []*spec.Sequence{seq("main", jobNode("a", "nope"))},
			want:      `sequence main, node a (main.yaml:10): job type "nope" is not known to this program; it knows broken, noop, panics, split, upper`,
		},
		{
			name: "deep inside, with the elements on the way there",
			sequences: []*spec.Sequence{
				seq("main", seqNode("s", "rack", each("racks:rack"), given("hosts"))),
				seq("rack", seqNode("h", "host", each("hosts:host", "hosts:name"))),
				seq("host", jobNode("ok", "noop"), jobNode("a", "broken", after("ok"))),
			},
			args: proto.Values{"racks": []any{"r1", "r2"}, "hosts": []any{"h1"}},
			want: `sequence host, node a (host.yaml:11), for rack "r1", host "h1", name "h1": job type broken: the disk is full`,
		},
		{
			name:      "each over an arg that is no list",
			sequences: []*spec.Sequence{seq("main", jobNode("a", "noop", each("l:x")))},
			args:      proto.Values{"l": "a,b"},
			want:      `sequence main, node a (main.yaml:10): each: arg l must be a list, not the text "a,b"`,
		},
		{
			name:      "each over null",
			sequences: []*spec.Sequence{seq("main", jobNode("a", "noop", each("l:x")))},
			args:      proto.Values{"l": nil},
			want:      `sequence main, node a (main.yaml:10): each: arg l must be a list, not null`,
		},
		{
			name:      "each over an arg that is not set",
			sequences: []*spec.Sequence{seq("main", jobNode("a", "noop", each("l:x")))},
			want:      `sequence main, node a (main.yaml:10): each: arg l is not set`,
		},
		{
			name:      "lists of different lengths",
			sequences: []*spec.Sequence{seq("main", jobNode("a", "noop", each("l:x", "m:y")))},
			args:      proto.Values{"l": []any{}, "m": []any{"1", "2"}},
			want:      `sequence main, node a (main.yaml:10): each: the lists must have equal lengths, but l has 0 and m has 2`,
		},
		{
			name:      "an arg that is not set",
			sequences: []*spec.Sequence{seq("main", jobNode("a", "noop", given("x=y")))},
			want:      `sequence main, node a (main.yaml:10): arg y is not set`,
		},
		{
			name: "an `if` that matches nothing",
			sequences: []*spec.Sequence{
				seq("main", ifNode("c", "mode", map[string]string{"on": "s", "off": spec.NoopSequence})), seq("s", jobNode("a", "noop")),
			},
			args: proto.Values{"mode": []any{"on"}},
			want: `sequence main, node c (main.yaml:10): if: arg mode is "[\"on\"]", and there is no default; the choices are "off", "on"`,
		},
		{
			name:      "an `if` arg that is not set",
			sequences: []*spec.Sequence{seq("main", ifNode("c", "mode", map[string]string{"default": spec.NoopSequence}))},
			want:      `sequence main, node c (main.yaml:10): if: arg mode is not set`,
		},
		{
			name:      "a job that does not set what the node says",
			sequences: []*spec.Sequence{seq("main", jobNode("a", "noop", sets("list")))},
			want:      `sequence main, node a (main.yaml:10): sets: arg list was not set`,
		},
		{
			name:      "noop sets nothing",
			sequences: []*spec.Sequence{seq("main", seqNode("s", spec.NoopSequence, sets("list")))},
			want:      `sequence main, node s (main.yaml:10): sets: arg list was not set`,
		},
		{
			name:      "expansions that set different values",
			sequences: []*spec.Sequence{seq("main", jobNode("a", "upper", each("l:text"), sets("upper")))},
			args:      proto.Values{"l": []any{"a", "a", "b"}},
			want: "sequence main, node a (main.yaml:10): sets: the expansions set arg upper to different values: " +
				"the first \"A\", number 3 \"B\"; `collect: true` would make a list of them",
		},
		{
			name:      "a sequence that does not exist",
			sequences: []*spec.Sequence{seq("main", seqNode("s", "nope"))},
			want:      `sequence main, node s (main.yaml:10): sequence nope does not exist`,
		},
		{
			name:      "a required arg that is not given",
			sequences: []*spec.Sequence{seq("main", seqNode("s", "inner")), {Name: "inner", Args: spec.SequenceArgs{Required: []*spec.Arg{{Name: "host"}}}}},
			want:      `sequence main, node s (main.yaml:10): sequence inner requires arg host, which is not given`,
		},
		{
			name:      "sequences nested for ever",
			sequences: []*spec.Sequence{seq("main", seqNode("s", "main"))},
			want:      `sequence main, node s (main.yaml:10): sequence main would be nested deeper than the limit of 50 sequences (limits.depth)`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := newSpecs(tt.sequences...).Build(t.Context(), "req", "main", tt.args, nil)
			e, ok := errors.AsType[*proto.Error](err)
			if !ok || e.Code != proto.CodeUnprocessable {
				t.Fatalf("Build = %v, want an error that is %s", err, proto.CodeUnprocessable)
			}
			if e.Message != tt.want {
				t.Errorf("message\n got %s\nwant %s", e.Message, tt.want)
			}
		})
	}
}

func TestOnlyRequestsCanBeBuilt(t *testing.T) {
	t.Parallel()
	specs := newSpecs(seq("main", jobNode("a", "noop")), seq("inner", jobNode("a", "noop")))
	for _, name := range []string{"inner", "nope", ""} {
		if _, err := specs.Build(t.Context(), "req", name, nil, nil); proto.ErrorCode(err) != proto.CodeInvalid {
			t.Errorf("Build of %q = %v, want an error that is %s", name, err, proto.CodeInvalid)
		}
	}
}

func TestTooManyJobsEndsBuildEarly(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name      string
		sequences []*spec.Sequence
		created   int // most jobs that may be created before the error
	}{
		{"one wide node", []*spec.Sequence{seq("main", jobNode("a", "count", each("l:x")))}, 0},
		{"wide in wide", []*spec.Sequence{
			seq("main", seqNode("s", "inner", each("l:x"), given("l"))), seq("inner", jobNode("a", "count", each("l:y")))}, 50},
		{"a sequence", []*spec.Sequence{seq("main", seqNode("s", "inner", each("l:x"))), seq("inner", jobNode("a", "count"))}, 50},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			created := 0
			specs := newSpecs(tt.sequences...)
			specs.limits.Jobs = 50
			specs.registry = buildRegistry(map[string]createFunc{
				"count": func(context.Context, job.Values) error { created++; return nil },
			})
			_, err := specs.Build(t.Context(), "req", "main", proto.Values{"l": list("x", 51)}, nil)
			if proto.ErrorCode(err) != proto.CodeUnprocessable || !strings.Contains(err.Error(), "more than 50 jobs, which is the limit (limits.jobs)") {
				t.Fatalf("Build = %v, want the limit of 50 jobs", err)
			}
			if created > tt.created {
				t.Errorf("%d jobs were created before the error, want at most %d", created, tt.created)
			}
			if _, err := specs.Build(t.Context(), "req", "main", proto.Values{"l": list("x", 7)}, nil); err != nil {
				t.Errorf("Build within the limit = %v", err)
			}
		})
	}
}

// Lists in lists of nothing make no jobs, but would keep Build busy for ever.
func TestTooManyEmptyExpansionsEndBuild(t *testing.T) {
	t.Parallel()
	specs := newSpecs(
		seq("main", seqNode("s", "inner", each("l:x"), given("l"))),
		seq("inner", seqNode("t", spec.NoopSequence, each("l:y"))))
	specs.limits.Jobs = 100
	_, err := specs.Build(t.Context(), "req", "main", proto.Values{"l": list("x", 32)}, nil)
	want := "the request has more than 1000 expansions without any job, 10 times the limit of jobs (limits.jobs)"
	if proto.ErrorCode(err) != proto.CodeUnprocessable || !strings.Contains(err.Error(), want) {
		t.Errorf("Build over 32 times 32 nothings = %v, want: %s", err, want)
	}
	if _, err := specs.Build(t.Context(), "req", "main", proto.Values{"l": list("x", 30)}, nil); err != nil {
		t.Errorf("Build within the limit = %v", err)
	}
}

func TestTooManyArgsEndBuild(t *testing.T) {
	t.Parallel()
	specs := newSpecs(seq("main", jobNode("a", "noop", each("l:x"), given("l"))))
	b := newBuilder(specs, "req", nil)
	b.maxCopied = 1000
	err := b.request(t.Context(), specs.Sequences["main"], proto.Values{"l": list("x", 40)})
	want := "the args of all jobs together have more than 1000 values: give long lists to fewer jobs"
	if proto.ErrorCode(err) != proto.CodeUnprocessable || !strings.Contains(err.Error(), want) {
		t.Errorf("a list of 40 for each of 40 jobs = %v, want: %s", err, want)
	}
	if b.jobs > 24 {
		t.Errorf("%d jobs were made before the error, want at most 24", b.jobs)
	}
}

// A chain is stored and sent with every text in full, though jobs share it in memory.
func TestTooMuchTextEndsBuild(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]any{
		"text":    strings.Repeat("x", 100),
		"in list": []any{strings.Repeat("x", 50), map[string]any{"k": strings.Repeat("x", 50)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			specs := newSpecs(seq("main", jobNode("a", "noop", each("l:x"), given("long"))))
			build := func(jobs int) (*builder, error) {
				b := newBuilder(specs, "req", nil)
				b.maxText = 1000
				l := make([]any, jobs)
				for i := range l {
					l[i] = int64(i)
				}
				return b, b.request(t.Context(), specs.Sequences["main"], proto.Values{"l": l, "long": value})
			}
			b, err := build(40)
			want := "the args of all jobs together have more than 1000 bytes of text: give long texts to fewer jobs"
			if proto.ErrorCode(err) != proto.CodeUnprocessable || !strings.Contains(err.Error(), want) {
				t.Errorf("100 bytes for each of 40 jobs = %v, want: %s", err, want)
			}
			if b.jobs > 10 {
				t.Errorf("%d jobs were made before the error, want at most 10", b.jobs)
			}
			if _, err := build(10); err != nil {
				t.Errorf("within the limit = %v", err)
			}
		})
	}
}

func TestPanicIsTheCause(t *testing.T) {
	t.Parallel()
	specs := newSpecs(seq("main", jobNode("a", "panics", given("text"))))
	_, err := specs.Build(t.Context(), "req", "main", proto.Values{"text": "hush-hush"}, []string{"hush-hush"})
	p, ok := errors.AsType[*job.PanicError](err)
	if !ok || len(p.Stack) == 0 || p.Value != "boom "+proto.SecretMask {
		t.Fatalf("cause = %#v, want the panic with its stack and without the secret", p)
	}
	if body := proto.Body(err); strings.Contains(body.Message, "boom") {
		t.Errorf("a user is shown what a panic says: %s", body.Message)
	}
}

func TestErrorsDoNotTellSecrets(t *testing.T) {
	t.Parallel()
	secrets := []string{"hush", `hush "now"`, "two\nlines"}
	for _, secret := range secrets {
		values := map[string]any{"as it is": secret, "in a list": []any{secret}, "inside": "x" + secret + "y"}
		for name, value := range values {
			t.Run(fmt.Sprintf("%q %s", secret, name), func(t *testing.T) {
				t.Parallel()
				for _, s := range []*spec.Sequence{
					seq("main", jobNode("a", "upper", given("text=v"), literal("text", []any{1}))),
					seq("main", jobNode("a", "quotes", given("v"))),
					seq("main", ifNode("c", "v", map[string]string{"on": spec.NoopSequence})),
					seq("main", jobNode("a", "broken", each("l:x"))),
					seq("main", jobNode("a", "noop", each("v:x"))),
				} {
					specs := newSpecs(s)
					specs.registry = buildRegistry(map[string]createFunc{
						"quotes": func(_ context.Context, args job.Values) error { return fmt.Errorf("bad %q", args["v"]) },
					})
					_, err := specs.Build(t.Context(), "req", "main", proto.Values{"v": value, "l": []any{value}}, secrets)
					if err == nil {
						continue
					}
					for _, part := range []string{"hush", "now", "two", "lines"} {
						if strings.Contains(err.Error(), part) {
							t.Errorf("the error tells a secret: %v", err)
						}
					}
				}
			})
		}
	}
}

func TestBuildEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	created := 0
	specs := newSpecs(seq("main", jobNode("a", "count", each("l:x"))))
	specs.registry = buildRegistry(map[string]createFunc{
		"count": func(context.Context, job.Values) error {
			if created++; created == 3 {
				cancel(errors.New("the caller went away"))
			}
			return nil
		},
	})
	_, err := specs.Build(ctx, "req", "main", proto.Values{"l": list("x", 100)}, nil)
	if proto.ErrorCode(err) != proto.CodeUnavailable || !strings.Contains(err.Error(), "the caller went away") {
		t.Errorf("Build = %v, want an error that is %s with its cause", err, proto.CodeUnavailable)
	}
	if created != 3 {
		t.Errorf("%d jobs were created, want 3", created)
	}
}
