package e2e_test

import (
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/e2e"
)

// curious has a job that looks for what its runner knows, and one that gets a result
// of it.
const curious = `
sequences:
  curious:
    request: true
    args:
      required: [{name: pid}]
    nodes:
      look:
        category: job
        type: shell
        args:
          - expected: pid
          - expected: script
            value: |
              for p in $pid $PPID; do
                cat /proc/$p/environ >&2 || echo "environ closed"
                head -c 1 /proc/$p/maps >/dev/null || echo "maps closed"
                tr '\0' '\n' </proc/$p/environ >&2
              done
              env >&2
              echo "uid $(id -u) groups $(id -G) home $HOME user $USER"
              echo "found=$(id -u)" >"$TREADLE_OUTPUT"
      tell:
        category: job
        type: command
        deps: [look]
        args:
          - expected: argv
            value: [echo, "found ${data.found}"]
`

// nobody is a user without rights, as it is on most systems.
const nobody = "65534"

// Commands cannot read the secrets of their runner, whoever it runs as.
func TestJobsCannotReadSecretsOfTheirRunner(t *testing.T) {
	t.Parallel()
	const secret = "a-secret-of-the-cluster-that-jobs-must-not-see"
	uid := strconv.Itoa(os.Getuid())
	for _, c := range []struct {
		name   string
		root   bool // the test needs it
		as     string
		env    []string
		uid    string
		closed bool // the runner's memory is closed, too
	}{
		{"a runner of the user of this test", false, "", nil, uid, uid != "0"},
		{"an unprivileged runner", true, nobody, nil, nobody, true},
		{"a runner of root with run_as", true, "", []string{"TREADLE_RUN_AS=" + nobody}, nobody, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.root && uid != "0" {
				t.Skip("only root can start processes of other users")
			}
			e := e2e.NewEnv(t, "SQLite")
			e.Spec("curious", curious)
			env := []string{"TREADLE_CLUSTER_SECRET=" + secret}
			e.StartRM(env...)
			jr := startRunnerAs(t, e, c.as, slices.Concat(env, c.env))

			id := e.Submit("curious", object{"pid": strconv.Itoa(jr.PID())})
			e.WaitState(id, proto.StateComplete, patience)
			var out, all string
			for _, l := range e.Log(id) {
				out, all = out+l.Stdout, all+l.Stdout+l.Stderr
			}
			if strings.Contains(all, secret) || strings.Contains(all, "TREADLE_CLUSTER_SECRET") {
				t.Errorf("a job has read the secret:\n%s", all)
			}
			if !strings.Contains(out, "uid "+c.uid+" groups ") || !strings.Contains(out, "found "+c.uid) {
				t.Errorf("jobs do not run as user %s:\n%s", c.uid, out)
			}
			if n := strings.Count(out, "maps closed") + strings.Count(out, "environ closed"); c.closed && n != 4 {
				t.Errorf("the runner and its supervisor are not closed to jobs:\n%s", out)
			}
			if c.uid == nobody && c.as == "" && strings.Contains(out, "home "+os.Getenv("HOME")+" ") {
				t.Errorf("jobs have the home of the runner:\n%s", out)
			}
		})
	}
}

// startRunnerAs starts a Job Runner as a user, or as that of the test.
func startRunnerAs(t *testing.T, e *e2e.Env, uid string, env []string) *e2e.Process {
	t.Helper()
	if uid == "" {
		return e.StartJR(append(env, "TMPDIR="+openDir(t))...)
	}
	// The program as a file that the user can read.
	program := filepath.Join(openDir(t), "treadle")
	copyFile(t, e2e.Binary(t), program)
	addr := e.Reserve()
	cmd := exec.Command("setpriv", "--reuid="+uid, "--regid="+uid, "--clear-groups", program, "job-runner")
	cmd.Dir = "/"
	cmd.Env = append([]string{
		"PATH=" + os.Getenv("PATH"), "HOME=/", "TMPDIR=" + openDir(t),
		"TREADLE_SERVER_ADDR=" + addr, "TREADLE_RM_CLIENT_URL=" + e.URL(),
	}, env...)
	return e.StartCommand(cmd, addr)
}

// openDir returns a directory that all users can use, as /tmp is.
func openDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := errors.Join(os.Chmod(dir, 0o777|os.ModeSticky), os.Chmod(filepath.Dir(dir), 0o755)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	in, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
}

// A run_as that cannot be is refused at start, with the reason.
func TestRunAsThatCannotBe(t *testing.T) {
	t.Parallel()
	for user, reason := range map[string]string{"no-such-user-here": `there is no user "no-such-user-here"`, "root": "user root is root"} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, e2e.Binary(t), "job-runner")
		cmd.Env = []string{"TREADLE_RUN_AS=" + user, "TREADLE_SERVER_ADDR=127.0.0.1:0", "HOME=" + t.TempDir()}
		if os.Getuid() != 0 {
			reason = "only root can run commands as another user"
		}
		out, err := cmd.CombinedOutput()
		if err == nil || !strings.Contains(string(out), "run_as: "+reason) {
			t.Errorf("run_as %s: %v, %s", user, err, out)
		}
	}
}
