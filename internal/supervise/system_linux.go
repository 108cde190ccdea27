package supervise

import (
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	clockID    = unix.CLOCK_BOOTTIME
	getTermios = unix.TCGETS
)

// program is this program, also after its file was replaced or removed.
func program() (string, error) { return "/proc/self/exe", nil }

// attributes of a command: a session of its own, and death with the supervisor,
// for which the system takes the thread that starts it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}
}
