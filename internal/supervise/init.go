package supervise

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/treadle-run/treadle/internal/private"
)

// runAsInit is the whole program as process 1, as in a container: it runs this program
// once more, as its child, hands signals on to it, and waits for all processes that
// become its own when their parents have ended. The child cannot do that itself: it
// could not tell them from what it started. It returns the exit code of the child.
func runAsInit() int {
	path, err := program()
	if err != nil {
		return initFailed(err)
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGCHLD)
	child, err := startProgram(path)
	if err != nil {
		return initFailed(err)
	}
	private.ForgetEnvironment("TREADLE_")
	_ = private.Hide()
	for s := range signals {
		if s != syscall.SIGCHLD {
			_ = syscall.Kill(child, s.(syscall.Signal))
			continue
		}
		if status, ended := reapUntil(child); ended {
			if status.Signaled() {
				return 128 + int(status.Signal())
			}
			return status.ExitStatus()
		}
	}
	return 1 // not reached: nobody closes the channel
}

// startProgram starts the program in a process group of its own, or Ctrl-C would come
// twice: from the terminal and from process 1.
func startProgram(path string) (pid int, err error) {
	_, err = unix.IoctlGetTermios(int(os.Stdin.Fd()), getTermios)
	for _, foreground := range []bool{err == nil, false} { // false also if the terminal is not ours
		cmd := &exec.Cmd{
			Path: path, Args: os.Args, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
			SysProcAttr: &syscall.SysProcAttr{Setpgid: true, Foreground: foreground},
		}
		if err = cmd.Start(); err == nil {
			return cmd.Process.Pid, nil
		}
	}
	return 0, err
}

func initFailed(err error) int {
	_, _ = os.Stderr.WriteString("treadle: as process 1: " + err.Error() + "\n")
	return 1
}

// reapUntil waits for all children that have ended; it reports whether one of them was
// pid, and how it ended.
func reapUntil(pid int) (status syscall.WaitStatus, ended bool) {
	for {
		var of syscall.WaitStatus
		got, err := syscall.Wait4(-1, &of, syscall.WNOHANG, nil)
		switch {
		case err == syscall.EINTR:
		case err != nil || got <= 0:
			return status, ended
		case got == pid:
			status, ended = of, true
		}
	}
}
