//go:build !linux

package torture

import "syscall"

func attr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
