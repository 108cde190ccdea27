package builtin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/job"
)

// ancestors is the job data of n jobs that each set one value of a size.
func ancestors(n, size int) job.Values {
	data := job.Values{}
	for i := range n {
		data[fmt.Sprintf("host_%05d", i)] = strings.Repeat("x", size)
	}
	return data
}

func TestJobDataNeverKeepsACommandFromStarting(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name    string
		n, size int
	}{
		{"24 jobs of 100 KB", 24, 100_000},
		{"200 hosts of 12 KB", 200, 12_000},
		{"10,000 jobs of 1 KB", 10_000, 1_000},
		{"100,000 jobs of one byte", 100_000, 1},
		{"28 jobs of 0.9 MB", 28, 900_000},
		{"nothing", 0, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			data := ancestors(test.n, test.size)
			args := job.Values{"argv": []any{"/bin/sh", "-c", `cat "$TREADLE_DATA" | cksum; cksum <"$TREADLE_DATA" >&2; printenv wanted | tr -d "\n" | wc -c`}, "wanted": strings.Repeat("w", 100_000)}
			res, err := mustCreate(t, "command", args).run(t.Context(), data)
			if err != nil {
				t.Fatal(err)
			}
			// The program that the command starts gets the environment of the command.
			lines := strings.Split(string(res.Stdout), "\n")
			if lines[0]+"\n" != string(res.Stderr) || lines[1] != "100000" {
				t.Errorf("got %q and %q", res.Stdout, res.Stderr)
			}
		})
	}
}

func TestAllJobDataIsInAPrivateFileThatIsRemoved(t *testing.T) {
	t.Parallel()
	want := job.Values{"i": int64(1) << 60, "f": 1.5, "list": []any{"a", nil, true}, "LD_PRELOAD": "x", "a-b": "quotes \" and\nlines"}
	res, err := script(t, `cat "$TREADLE_DATA"; stat -c '%a %U' "$TREADLE_DATA" >&2; id -un >&2; echo "path=$TREADLE_DATA" >>"$TREADLE_OUTPUT"`, nil, want)
	if err != nil {
		t.Fatal(err)
	}
	var got job.Values
	if err := got.UnmarshalJSON(res.Stdout); err != nil {
		t.Fatalf("%v in %q", err, res.Stdout)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	stat := strings.Fields(string(res.Stderr))
	if len(stat) != 3 || stat[0] != "600" || stat[1] != stat[2] {
		t.Errorf("the file is %q, want one for its user alone", res.Stderr)
	}
	if _, err := os.Stat(res.Data["path"].(string)); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
}

func TestTheSmallestJobDataBecomesVariables(t *testing.T) {
	t.Parallel()
	k := func(n int) string { return strings.Repeat("x", n<<10) }
	data := job.Values{"e": k(120), "d": k(120), "c": k(120), "b": k(120), "a": k(120), "f": k(100), "g": k(1), "both": k(100)}
	set := job.Values{}
	vars := map[string]string{"e": "of the runner"}
	omitted := addData(vars, map[string]string{"both": "arg"}, data, maxDataVariables)
	for name := range vars {
		set[name] = true
	}
	if diff := cmp.Diff(job.Values{"g": true, "f": true, "a": true, "b": true, "c": true}, set); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"d", "e"}, omitted); diff != "" {
		t.Error(diff)
	}
}

func TestACommandThatFailedNamesTheJobDataThatItDidNotGet(t *testing.T) {
	t.Parallel()
	res, err := script(t, `set -u; echo "$host_00023"`, nil, ancestors(24, 100_000))
	if err == nil || !strings.Contains(string(res.Stderr), "only in the file named by TREADLE_DATA: host_00005, ") ||
		!strings.Contains(string(res.Stderr), " and 9 more]\n") {
		t.Errorf("got %v and stderr %q", err, res.Stderr)
	}
}

func TestArgumentsThatNoProgramCanBeGivenAreRefused(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", maxVariable+1)
	many := make([]any, 10)
	for i := range many {
		many[i] = strings.Repeat("x", 100_000)
	}
	_, err := create(t, "command", job.Values{"argv": []any{"echo", long}})
	wantArgError(t, err, "argv", "element 2, of 131072 bytes: has 131072 bytes, at most 131071")
	_, err = create(t, "command", job.Values{"argv": []any{"echo", "${a}${a}"}, "a": long[:100_000]})
	wantArgError(t, err, "argv", "element 2, \"${a}${a}\": has 200000 bytes")
	_, err = create(t, "command", job.Values{"argv": append([]any{"echo"}, many...)})
	wantArgError(t, err, "argv", "at most 786432 can be given to a program")
	args := job.Values{"script": "true"}
	for i, x := range many {
		args[fmt.Sprintf("a%d", i)] = x
	}
	_, err = create(t, "shell", args)
	wantArgError(t, err, "a7", "at most 786432")

	tr := mustCreate(t, "command", job.Values{"argv": []any{"echo", "${data.big}"}})
	_, err = tr.run(t.Context(), job.Values{"big": long})
	wantError(t, err, "element 2, \"${data.big}\": has 131072 bytes")
	tr = mustCreate(t, "command", job.Values{"argv": []any{"/bin/echo", long[1:]}})
	if res, err := tr.run(t.Context(), nil); err != nil || len(res.Stdout) != maxVariable+1 {
		t.Errorf("the longest element: %d bytes, %v", len(res.Stdout), err)
	}
}

func TestTheDirectoryOfTheJobIsPWD(t *testing.T) {
	t.Setenv("OLDPWD", "/of/the/runner")
	t.Setenv("PWD", "/of/the/runner")
	dir := t.TempDir()
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "below"), 0o700); err != nil {
		t.Fatal(err)
	}
	for given, want := range map[string]string{"": here, dir: dir, link: link, dir + "/./below/../": dir, ".": here} {
		tr := mustCreate(t, "command", job.Values{"argv": []any{"env"}, "dir": given})
		res, err := tr.run(t.Context(), job.Values{"PWD": "/data", "OLDPWD": "/data"})
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains("\n"+string(res.Stdout), "\nPWD="+want+"\n") || strings.Contains(string(res.Stdout), "OLDPWD") {
			t.Errorf("dir %q: got %q, want PWD=%s and no OLDPWD", given, res.Stdout, want)
		}
	}
}

func TestFilesOfDeadRunnersAreRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	alive, err := newTryFile("output")
	if err != nil {
		t.Fatal(err)
	}
	defer alive.remove()
	dead, err := newTryFile("data")
	if err != nil {
		t.Fatal(err)
	}
	_ = dead.Close() // as when its process is killed
	pipe := filepath.Join(os.TempDir(), tryFilePrefix+"data-1")
	other := dead.Name() + ".new" // of a command, which may live
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	sweepTryFiles(time.Now().Add(-time.Hour))
	if _, err := os.Stat(dead.Name()); err != nil {
		t.Errorf("a file that is not locked yet was removed: %v", err)
	}
	sweepTryFiles(time.Now().Add(time.Hour))
	if _, err := os.Stat(dead.Name()); !os.IsNotExist(err) {
		t.Errorf("the file of a dead runner is still there: %v", err)
	}
	for _, path := range []string{alive.Name(), pipe, other} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}

func TestATemporaryDirectoryThatIsGoneIsMadeAgain(t *testing.T) {
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "gone"))
	res, err := script(t, `cat "$TREADLE_DATA"; echo a=1 >"$TREADLE_OUTPUT"`, nil, nil)
	if err != nil || res.Data["a"] != "1" || string(res.Stdout) != "{}\n" {
		t.Errorf("got %+v, %v", res, err)
	}
}
