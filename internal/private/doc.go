// Package private keeps what a service knows from other processes, also from those of
// its own user: the jobs that it runs.
//
// Hide closes its memory and its environment to them, ForgetEnvironment takes secrets
// out of the environment once they were read, Dir makes directories that no other user
// can have made before.
//
// Hiding works on Linux alone. What remains: a process of root sees everything, and a
// process of the same user can read the same files. Jobs that must not be trusted with
// these run as another user.
//
// The package imports the standard library and x/sys.
package private
