package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/e2e"
)

// tenacious has a job that does not end when it is asked to, nor do its children,
// one of which is in a session of its own. It tells when it began, and whether
// anything of an earlier try was there still.
const tenacious = `
sequences:
  tenacious:
    request: true
    args:
      required: [{name: gate_dir}]
    nodes:
      hold:
        category: job
        type: shell
        args:
          - expected: gate_dir
          - expected: script
            value: |
              exec 7>>"$gate_dir/busy"
              flock -n 7 || echo "$TREADLE_EPOCH" >>"$gate_dir/overlaps"
              trap '' TERM
              (sleep 600; sleep 600) & child=$!
              setsid sleep 600 & other=$!
              echo "$TREADLE_EPOCH" >>"$gate_dir/began"
              until [ -e "$gate_dir/open" ]; do sleep 0.05; done
              kill -9 $child $other
      after: {category: job, type: noop, deps: [hold]}
`

// startTenacious starts a request of that kind and waits until its job runs.
func startTenacious(t *testing.T, e *e2e.Env, gate string) string {
	t.Helper()
	id := e.Submit("tenacious", object{"gate_dir": gate})
	waitBegan(t, gate, "1")
	if len(marked(t, "gate_dir="+gate)) < 3 {
		t.Fatal("the processes of the job cannot be told from others")
	}
	return id
}

// waitBegan waits until the job has begun under these epochs, one after the
// other.
func waitBegan(t *testing.T, gate, epochs string) {
	t.Helper()
	e2e.Eventually(t, patience, "the job began under the epochs "+epochs, func() bool {
		b, err := os.ReadFile(filepath.Join(gate, "began"))
		return err == nil && strings.Join(strings.Fields(string(b)), " ") == epochs
	})
}

// waitGone waits until nothing is left of the job.
func waitGone(t *testing.T, gate string, within time.Duration) {
	t.Helper()
	e2e.Eventually(t, within, "nothing is left of the job", func() bool { return len(marked(t, "gate_dir="+gate)) == 0 })
}

// checkTenacious checks the end of a request that went to a second runner.
func checkTenacious(t *testing.T, e *e2e.Env, id, gate string) {
	t.Helper()
	open(t, gate)
	e.WaitState(id, proto.StateComplete, patience)
	if b, err := os.ReadFile(filepath.Join(gate, "overlaps")); err == nil {
		t.Errorf("the job began while an earlier try of it still ran, epochs: %s", b)
	}
	for _, l := range e.Log(id) {
		if l.State == proto.StateFail {
			t.Errorf("try %d of %s counts as failed: %s", l.Try, l.JobID, l.Error)
		}
	}
	waitGone(t, gate, patience)
}

func TestCommandsEndWithARunnerThatIsKilled(t *testing.T) {
	t.Parallel()
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		within := resumeWithin(t)
		e.Spec("tenacious", tenacious)
		e.StartRM()
		jr := e.StartJR()
		gate := t.TempDir()
		id := startTenacious(t, e, gate)
		jr.Kill9()
		waitGone(t, gate, within)

		e.RestartJR(jr)
		waitBegan(t, gate, "1 2")
		checkTenacious(t, e, id, gate)
	})
}

// The runner comes back at once, and is given the request while its predecessor's
// job still has its grace.
func TestANewTryWaitsForTheLastOneToBeGone(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("tenacious", tenacious)
		e.StartRM()
		jr := e.StartJR()
		gate := t.TempDir()
		id := startTenacious(t, e, gate)
		epochs := "1"
		for n := 2; n < 5; n++ {
			jr.Kill9()
			jr = e.RestartJR(jr)
			epochs += fmt.Sprint(" ", n)
			waitBegan(t, gate, epochs)
		}
		checkTenacious(t, e, id, gate)
	})
}

// A runner that is frozen for longer than its lease is given up; its job is gone
// before another runner has it. When it goes on it notices.
func TestCommandsEndWithTheLeaseOfARunnerThatIsFrozen(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		const lease = 5 * time.Second
		within := resumeWithin(t)
		e.Spec("tenacious", tenacious)
		e.StartRM("TREADLE_LEASE=" + lease.String())
		jr := e.StartJR()
		gate := t.TempDir()
		id := startTenacious(t, e, gate)
		jr.Signal(syscall.SIGSTOP)
		waitGone(t, gate, lease+within)

		e.StartJR()
		waitBegan(t, gate, "1 2")
		jr.Signal(syscall.SIGCONT)
		jr.WaitReady()
		checkTenacious(t, e, id, gate)
		endJR(t, jr)
	})
}
