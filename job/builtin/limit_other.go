//go:build !linux

package builtin

// systemLimit is the limit of the system, in bytes, for the arguments and the
// environment of a program together; the least of those of the systems that are known.
func systemLimit() int { return 256 << 10 }
