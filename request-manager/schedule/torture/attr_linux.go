package torture

import "syscall"

// attr lets a member die with the test, and keeps Ctrl-C from it.
func attr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
