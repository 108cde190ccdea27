package process

import "syscall"

// attr lets the process die with the test, and keeps Ctrl-C from it.
func attr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
