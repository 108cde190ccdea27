package mariadb

import "syscall"

// procAttr lets the server die with the test process, however that ends.
func procAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
}
