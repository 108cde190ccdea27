package e2e_test

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/e2e"
)

const loud = `
sequences:
  loud:
    request: true
    nodes:
      a: {category: job, type: shell, args: [{expected: script, value: "kill -PIPE $$; echo not here"}]}
  quiet:
    request: true
    nodes:
      a: {category: job, type: shell, args: [{expected: script, value: "echo $TREADLE_TRY"}]}
`

// The terminal of the services is closed, and who reads their logs goes away.
func TestServicesOutliveTheirTerminalAndTheReaderOfTheirLogs(t *testing.T) {
	t.Parallel()
	e := e2e.NewEnv(t, "SQLite")
	e.Spec("loud", loud)
	rm, jr := e.StartRM("TREADLE_LOG_LEVEL=debug"), e.StartJR("TREADLE_LOG_LEVEL=debug")
	e.WaitState(e.Submit("quiet", nil), proto.StateComplete, patience)
	for _, p := range []*e2e.Process{rm, jr} {
		p.Signal(syscall.SIGHUP)
		p.Signal(syscall.SIGPIPE) // as when something is written for a reader that is gone
	}
	e.WaitState(e.Submit("quiet", nil), proto.StateComplete, patience)
	// Commands do not inherit that: they die of SIGPIPE, as ever.
	id := e.Submit("loud", nil)
	if r := e.WaitState(id, proto.StateFail, patience); !strings.Contains(r.Reason, "killed by SIGPIPE") {
		t.Errorf("the reason is %q", r.Reason)
	}
	if rm.Ended() || jr.Ended() {
		t.Error("a service has ended")
	}
}

// What is written to a pipe without a reader is lost, and nothing else.
func TestARunnerWhosePipeOfLogsBreaksGoesOn(t *testing.T) {
	t.Parallel()
	ours, theirs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), e2e.Binary(t), "job-runner")
	cmd.Env = []string{"TREADLE_SERVER_ADDR=127.0.0.1:0", "TREADLE_RM_CLIENT_URL=http://127.0.0.1:1", "HOME=" + t.TempDir()}
	cmd.Stderr = theirs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	_ = theirs.Close()
	lines := bufio.NewScanner(ours)
	for said := false; !said && lines.Scan(); {
		said = strings.Contains(lines.Text(), "no answer to a heartbeat")
	}
	_ = ours.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		t.Fatalf("it ended when it wrote to its log: %v", err)
	case <-time.After(5 * time.Second): // two heartbeats that fail
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the end: %v", err)
	}
}
