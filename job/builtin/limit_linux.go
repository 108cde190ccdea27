package builtin

import "golang.org/x/sys/unix"

// systemLimit is the limit of the system, in bytes, for the arguments and the
// environment of a program together: a quarter of its stack, within bounds.
func systemLimit() int {
	const least, most = 128 << 10, 6 << 20
	var stack unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_STACK, &stack); err != nil {
		return least
	}
	return int(min(max(stack.Cur/4, least), most))
}
