package job

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// copyFiles declares an arg of each type.
type copyFiles struct {
	Files   []string `json:"files"`
	Tries   int      `json:"tries"`
	Share   float64  `json:"share"`
	Verify  bool     `json:"verify"`
	Mode    string   `json:"mode"`
	Target  string   `json:"target"`
	Wait    string   `json:"wait"`
	Comment string   `json:"comment"`
	Labels  any      `json:"labels"`

	declaration Declaration
}

func (c *copyFiles) Run(context.Context, Values) (Result, error) { return Result{}, nil }

func (c *copyFiles) Declare() Declaration { return c.declaration }

func copying() Declaration {
	return Declaration{
		Doc:    "Copies files.",
		Repeat: RepeatSafe,
		Args: []Arg{
			{Name: "files", Type: List, Required: true, Example: []string{"a", "b"}, Doc: "what to copy"},
			{Name: "tries", Type: Int, Min: new(int64(1)), Max: new(int64(9)), Default: 3, Doc: "how often"},
			{Name: "share", Type: Float, Max: new(int64(1)), Doc: "of the line"},
			{Name: "verify", Type: Bool, Default: true, Doc: "whether to read again"},
			{Name: "mode", Type: String, Enum: []string{"fast", "safe"}, Default: "safe", Doc: "how"},
			{Name: "target", Type: String, Pattern: "[a-z]+", Doc: "where to"},
			{Name: "wait", Type: Duration, Default: "1m", Doc: "between tries"},
			{Name: "comment", Type: String, Default: "none", Empty: true, Doc: "what for"},
			{Name: "labels", Type: Object, Doc: "kept with the files"},
		},
		Check: func(args Values) error {
			if args["mode"] == "fast" && args["verify"] == true {
				return ArgErrorf("verify", "nothing can be verified in mode fast")
			}
			return nil
		},
	}
}

func copyRegistry() *Registry {
	r := NewRegistry()
	r.Register("copy", func() Job { return &copyFiles{declaration: copying()} })
	return r
}

func TestDeclaredArgsFillTheFields(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args Values
		want copyFiles
	}{
		"defaults": {
			Values{"files": []any{"x"}},
			copyFiles{Files: []string{"x"}, Tries: 3, Verify: true, Mode: "safe", Wait: "1m", Comment: "none"},
		},
		"text that reads as its type": {
			Values{"files": []any{"x"}, "tries": "5", "share": "0.5", "verify": "false", "mode": "fast", "target": "abc", "wait": "0s"},
			copyFiles{Files: []string{"x"}, Tries: 5, Share: 0.5, Mode: "fast", Target: "abc", Wait: "0s", Comment: "none"},
		},
		"null and empty text are not given": {
			Values{"files": []any{}, "tries": "", "share": nil, "verify": nil, "mode": "", "target": "", "wait": "", "comment": ""},
			copyFiles{Files: []string{}, Tries: 3, Verify: true, Mode: "safe", Wait: "1m"},
		},
		"an object, and a whole number as a float": {
			Values{"files": []any{"x"}, "share": int64(1), "labels": map[string]any{"a": int64(1)}},
			copyFiles{Files: []string{"x"}, Tries: 3, Share: 1, Verify: true, Mode: "safe", Wait: "1m", Comment: "none", Labels: map[string]any{"a": 1.0}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, before := copyRegistry(), tt.args.Clone()
			b, err := r.Create(t.Context(), &Info{Type: "copy"}, tt.args)
			if err != nil {
				t.Fatal(err)
			}
			j, err := r.Load("copy", b)
			if err != nil {
				t.Fatal(err)
			}
			got := *j.(*copyFiles)
			got.declaration = Declaration{}
			if diff := cmp.Diff(tt.want, got, cmp.AllowUnexported(copyFiles{}, Declaration{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, tt.args); diff != "" {
				t.Errorf("the args of the spec changed:\n%s", diff)
			}
		})
	}
}

func TestArgsThatDoNotFitTheDeclaration(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		arg   string
		value any
		says  string // all of it
	}{
		{"files", nil, `expected a list such as ["a","b"], got nothing`},
		{"files", "a b", `expected a list such as ["a","b"], got the string "a b"`},
		{"tries", 0, "expected a whole number from 1 to 9, got the number 0"},
		{"tries", uint64(1) << 63, "expected a whole number from 1 to 9, got the number 9223372036854775808"},
		{"tries", 1.5, "expected a whole number from 1 to 9, got the number 1.5"},
		{"tries", "007", `expected a whole number from 1 to 9, got the string "007"`},
		{"share", 1.5, "expected a number up to 1, got the number 1.5"},
		{"share", "NaN", `expected a number up to 1, got the string "NaN"`},
		{"verify", "yes", `expected true or false, got the string "yes"`},
		{"mode", "fsat", `expected one of fast, safe, got the string "fsat"`},
		{"target", "abc9", `expected a string that matches [a-z]+, got the string "abc9"`},
		{"target", true, "expected a string, got the boolean true"},
		{"wait", "ten minutes", `expected a duration that is not negative such as "1.5s", got the string "ten minutes"`},
		{"wait", 10, `expected a duration that is not negative such as "1.5s", got the number 10: write "10s" for seconds`},
		{"wait", "-1s", `expected a duration that is not negative such as "1.5s", got the string "-1s"`},
		{"labels", []any{}, "expected an object, got a list of 0"},
		{"comment", strings.Repeat("x", 10), ""}, // fits
		{"mode", "fast", "nothing can be verified in mode fast"},
	} {
		args := Values{"files": []any{"x"}, tt.arg: tt.value}
		if err := args.Normalize(); err != nil {
			t.Fatal(err)
		}
		_, err := copyRegistry().Create(t.Context(), &Info{Type: "copy"}, args)
		if tt.says == "" {
			if err != nil {
				t.Errorf("%v: %v", args, err)
			}
			continue
		}
		wrong, ok := errors.AsType[*ArgError](err)
		if want := map[bool]string{true: "verify", false: tt.arg}[tt.value == "fast"]; !ok || wrong.Arg != want || wrong.Message != tt.says {
			t.Errorf("%v: got %v\nwant %s: %s", args, err, want, tt.says)
		}
	}
}

func TestMistakesAreAllFoundAndUnknownValuesAreNone(t *testing.T) {
	t.Parallel()
	d, ok := copyRegistry().Declaration("copy")
	if !ok {
		t.Fatal("nothing is declared")
	}
	var got []string
	for _, err := range d.Mistakes(Values{"tries": "x", "mode": "fast", "wait": Unknown, "target": Unknown, "other": Unknown}) {
		got = append(got, err.(*ArgError).Arg) //nolint:errorlint // it would panic
	}
	if diff := cmp.Diff([]string{"files", "tries", "verify"}, got); diff != "" {
		t.Error(diff)
	}
	if errs := d.Mistakes(Values{"files": Unknown, "mode": Unknown}); errs != nil {
		t.Error(errs)
	}
	d.Check = func(Values) error { panic("oh") }
	if errs := d.Mistakes(Values{"files": Unknown}); len(errs) != 1 || errs[0].Error() != "panic in Check: oh" {
		t.Error(errs)
	}
}

func TestTypesWithoutDeclarationHaveNone(t *testing.T) {
	t.Parallel()
	r := NewRegistry()
	r.Register("nil", func() Job { return nil })
	for _, name := range []string{"nil", "unknown"} {
		if d, ok := r.Declaration(name); ok || d != nil {
			t.Errorf("%s: %v", name, d)
		}
	}
}

func TestDeclarationsThatMakeNoSensePanicAtOnce(t *testing.T) {
	t.Parallel()
	for says, change := range map[string]func(d *Declaration){
		"no Doc":                        func(d *Declaration) { d.Doc = "" },
		"Repeat must be":                func(d *Declaration) { d.Repeat = "" },
		`"files" is declared twice`:     func(d *Declaration) { d.Args[1].Name = "files" },
		"1 to 100 bytes":                func(d *Declaration) { d.Args[1].Name = "" },
		`"tries": it has no Doc`:        func(d *Declaration) { d.Args[1].Doc = "" },
		`unknown type "integer"`:        func(d *Declaration) { d.Args[1].Type = "integer" },
		"missing closing )":             func(d *Declaration) { d.Args[1].Pattern = "(" },
		"required and has a default":    func(d *Declaration) { d.Args[1].Required = true },
		"its default: expected one of":  func(d *Declaration) { d.Args[4].Default = "slow" },
		"its default: expected a whole": func(d *Declaration) { d.Args[1].Default = 10 },
		`arg "out": it has no Doc`:      func(d *Declaration) { d.Sets = []Arg{{Name: "out"}} },
		"its default: ":                 func(d *Declaration) { d.Args[1].Default = make(chan int) },
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			defer func() {
				v, _ := recover().(string)
				if !strings.Contains(v, `type "copy": its declaration: `) || !strings.Contains(v, says) {
					t.Errorf("got %q", v)
				}
			}()
			d := copying()
			change(&d)
			NewRegistry().Register("copy", func() Job { return &copyFiles{declaration: d} })
		})
	}
}
