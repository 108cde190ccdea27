//go:build unix && !linux

package supervise

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

const (
	clockID    = unix.CLOCK_MONOTONIC
	getTermios = unix.TIOCGETA
)

func program() (string, error) { return os.Executable() }

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
