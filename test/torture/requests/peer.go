package requests

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// ownsConnection reports whether the process has the client's side of a TCP
// connection from addr, on IPv4. By this a proxy that several processes share
// knows who calls.
func ownsConnection(pid int, addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	if !ok {
		return false
	}
	inode := socketInode(tcp.Port)
	if inode == "" {
		return false
	}
	want := "socket:[" + inode + "]"
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid)) // the pattern is a good one
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil && to == want {
			return true
		}
	}
	return false
}

// socketInode returns the inode of the socket that is bound to a port of loopback
// and connected.
func socketInode(port int) string {
	table, err := os.ReadFile("/proc/self/net/tcp")
	if err != nil {
		return ""
	}
	local := fmt.Sprintf("0100007F:%04X", port)
	for line := range strings.Lines(string(table)) {
		// sl local rem st tx:rx tr:when retrnsmt uid timeout inode ...
		fields := strings.Fields(line)
		if len(fields) > 9 && fields[1] == local && fields[9] != "0" {
			return fields[9]
		}
	}
	return ""
}
