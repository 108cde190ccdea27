//go:build linux

package supervise

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// playParent starts processes whose parents end before them, says how many of them are
// left as zombies, and ends with SIGTERM.
func playParent() {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	if err := exec.CommandContext(context.Background(), "/bin/sh", "-c", `for i in 1 2 3 4 5; do (sh -c 'exec sleep 0.1' &); done`).Run(); err != nil {
		fmt.Println(err)
	}
	zombies := -1
	for deadline := time.Now().Add(5 * time.Second); zombies != 0 && time.Now().Before(deadline); {
		<-time.After(50 * time.Millisecond)
		zombies = 0
		stats, _ := filepath.Glob("/proc/[0-9]*")
		for _, dir := range stats {
			pid, _ := strconv.Atoi(filepath.Base(dir))
			if s, ok := statOf(pid); ok && (s.dead || s.name == "sleep") {
				zombies++
			}
		}
	}
	fmt.Println("process", os.Getpid() != 1, "zombies", zombies)
	<-told
	os.Exit(7)
}

func TestAsProcess1ItReapsAndHandsSignalsOn(t *testing.T) {
	t.Parallel()
	isolate := []string{"--pid", "--fork", "--mount-proc", "--kill-child"}
	if os.Geteuid() != 0 {
		isolate = append([]string{"--user", "--map-root-user"}, isolate...)
	}
	if out, err := exec.CommandContext(t.Context(), "unshare", append(isolate, "true")...).CombinedOutput(); err != nil {
		t.Skipf("this system has no namespaces of processes for tests: %v %s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), "unshare", append(isolate, os.Args[0])...)
	cmd.Env = append(os.Environ(), playing+"=parent")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || line != "process true zombies 0\n" {
		t.Errorf("it said %q, %v", line, err)
	}
	for _, pid := range childrenOf(cmd.Process.Pid) {
		_ = syscall.Kill(pid, syscall.SIGTERM)
	}
	_ = cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 7 {
		t.Errorf("exit code %d, want that of the program", code)
	}
}

// Somebody cleans up the directory for temporary files.
func TestADirectoryOfLocksThatIsGoneIsMadeAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tmp")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", dir)
	r := startRunner(t, time.Minute)
	for range 2 {
		r.say("run once mark true")
		r.hear("started")
		r.hear("ended")
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
}
