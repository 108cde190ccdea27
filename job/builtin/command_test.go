package builtin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/treadle-run/treadle/job"
)

func TestArgvIsFilledPerElement(t *testing.T) {
	t.Parallel()
	tests := []struct{ element, want string }{
		{"plain", "plain"},
		{"${word}", "w"},
		{"a${word}b${n}c", "awb3c"},
		{"${spaces}", "two  words"},
		{"${list}", `["a","b"]`},
		{"${odd-name}", "odd"},
		{"${data.version}", "1.2"},
		{"${data.count}", "7"},
		{"${data.mine}", "an arg"}, // an arg of that very name comes first
		{"$$", "$"},
		{"$${word}", "${word}"},
		{"$$$${word}", "$${word}"},
		{"$HOME costs 5$", "$HOME costs 5$"},
		{"${dollar}", "${word} $$"}, // values are not filled in again
		{"", ""},
	}
	args := job.Values{"word": "w", "n": 3, "spaces": "two  words", "list": []any{"a", "b"}, "odd-name": "odd", "data.mine": "an arg", "dollar": "${word} $$"}
	argv := []any{"printf", `%s\n`}
	for _, tt := range tests {
		argv = append(argv, tt.element)
	}
	args["argv"] = argv
	res, err := mustCreate(t, "command", args).run(t.Context(), job.Values{"version": "1.2", "count": int64(7), "mine": "data"})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(string(res.Stdout), "\n")
	if len(got) != len(tests)+1 {
		t.Fatalf("%d elements, want %d: %q", len(got)-1, len(tests), got)
	}
	for i, tt := range tests {
		if got[i] != tt.want {
			t.Errorf("%s became %q, want %q", tt.element, got[i], tt.want)
		}
	}
}

func TestCommandTakesNastyValues(t *testing.T) {
	t.Parallel()
	for _, value := range nasty {
		t.Run(fmt.Sprintf("%q", value), func(t *testing.T) {
			t.Parallel()
			tr := mustCreate(t, "command", job.Values{"argv": []any{"printf", "%s", "${v}"}, "v": value})
			res, err := tr.run(t.Context(), nil)
			if err != nil || string(res.Stdout) != value {
				t.Errorf("got %q, %v, want %q", res.Stdout, err, value)
			}
		})
	}
}

func TestCommandGetsArgsInItsEnvironmentToo(t *testing.T) {
	t.Parallel()
	tr := mustCreate(t, "command", job.Values{"argv": []any{"printenv", "token", "stage"}, "token": "t", "odd-name": 1})
	res, err := tr.run(t.Context(), job.Values{"stage": "live"})
	if err != nil || string(res.Stdout) != "t\nlive\n" {
		t.Errorf("got %q, %v", res.Stdout, err)
	}
}

func TestCommandFailsBeforeItStartsIfJobDataIsMissing(t *testing.T) {
	t.Parallel()
	tr := mustCreate(t, "command", job.Values{"argv": []any{"echo", "${data.version}"}})
	for _, data := range []job.Values{nil, {"other": 1}} {
		res, err := tr.run(t.Context(), data)
		wantError(t, err, `element 2, "${data.version}": no job before this one has set "version"`)
		if len(res.Stdout) > 0 {
			t.Errorf("it ran: %q", res.Stdout)
		}
	}
}

func TestSecretsAreNotInTheStoredForm(t *testing.T) {
	t.Parallel()
	for jobType, args := range map[string]job.Values{
		"shell":   {"script": ":", "password": "hunter2"},
		"command": {"argv": []any{"true"}, "password": "hunter2"},
	} {
		b, err := Registry().Create(t.Context(), &job.Info{Type: jobType}, args)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(b), "hunter2") {
			t.Errorf("%s: %q", jobType, b)
		}
	}
}
