package builtin

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/job"
)

// nasty is text that breaks whatever is pasted into a script.
var nasty = []string{
	"plain", "", " ", "two\nlines\n", `'"` + "`$(touch /tmp/never)`", `$HOME ${PATH} $$ \n \\`,
	"日本 🙂 é", "-n", "; exit 1", "*", "\t\r\x01\x7f", "\xff\xfe", "a=b",
}

func TestArgsReachTheScriptAsTheyAre(t *testing.T) {
	t.Parallel()
	for _, value := range nasty {
		t.Run(fmt.Sprintf("%q", value), func(t *testing.T) {
			t.Parallel()
			res, err := script(t, `printf '%s|%s' "$arg" "$datum"`, job.Values{"arg": value}, job.Values{"datum": value})
			if err != nil {
				t.Fatal(err)
			}
			if got := string(res.Stdout); got != value+"|"+value {
				t.Errorf("got %q, want %q", got, value+"|"+value)
			}
		})
	}
}

func TestValuesThatAreNoStringsReachTheScriptAsJSON(t *testing.T) {
	t.Parallel()
	args := job.Values{"i": 3, "f": 3.5, "t": true, "n": nil, "l": []any{"a", int64(1)}, "o": map[string]any{"k": "v"}}
	res, err := script(t, `echo "$i $f $t $n $l $o"`, args, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(res.Stdout), `3 3.5 true null ["a",1] {"k":"v"}`+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestTheScriptKnowsWhichTryItIs(t *testing.T) {
	t.Parallel()
	tr := mustCreate(t, "shell", job.Values{"script": `echo $TREADLE_REQUEST_ID $TREADLE_JOB_ID $TREADLE_TRY $TREADLE_EPOCH`})
	tr.info.RequestID, tr.info.Try, tr.info.Epoch = "req", 3, 12
	res, err := tr.run(t.Context(), nil)
	if got := string(res.Stdout); err != nil || got != "req job1 3 12\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

func TestWhichVariableWins(t *testing.T) {
	t.Parallel()
	env, _ := environ([]string{"program"},
		job.Values{"both": "arg", "PATH": "/mine", "not-a-variable": 1},
		job.Values{
			"both": "data", "only": "data", "PATH": "/theirs", "LD_PRELOAD": "x", "IFS": "x", "a-b": "x",
			"TREADLE_REQUEST_ID": "x", "nul": "\x00", "big": strings.Repeat("x", 128<<10),
			"PWD": "/theirs", "OLDPWD": "/theirs",
		}, map[string]string{"TREADLE_REQUEST_ID": "r", "TREADLE_OUTPUT": "/out", "PWD": "/dir"})
	got := map[string]string{}
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		got[name] = value
	}
	for name, want := range map[string]string{"both": "arg", "only": "data", "PATH": "/mine", "TREADLE_REQUEST_ID": "r", "TREADLE_OUTPUT": "/out", "PWD": "/dir"} {
		if got[name] != want {
			t.Errorf("%s is %q, want %q", name, got[name], want)
		}
	}
	for _, name := range []string{"LD_PRELOAD", "OLDPWD", "IFS", "a-b", "nul", "big", "not-a-variable"} {
		if value, ok := got[name]; ok {
			t.Errorf("%s is %.60q, want none", name, value)
		}
	}
}

func TestTheConfigurationOfTheRunnerIsNotInherited(t *testing.T) {
	t.Parallel()
	got := inherited([]string{"PATH=/bin", "LANG=C", "EMPTY=", "TREADLE_CLUSTER_SECRET=s", "TREADLE_MYSQL_DSN=s", "NOTIFY_SOCKET=/run/x", "A=b=c", "OLDPWD=/root"})
	want := map[string]string{"PATH": "/bin", "LANG": "C", "EMPTY": "", "A": "b=c"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
