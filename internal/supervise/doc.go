// Package supervise starts commands so that none outlives its right to run.
//
// A Supervisor is a second process, this same program started once more. It is
// the parent of all commands and knows until when the runner that asked for them
// may run jobs (its lease). When that time passes, because the runner lost its
// Request Managers or is frozen, or when the runner is gone, it ends all of them:
// SIGTERM, a short grace, SIGKILL. Nothing starts without it, and what it started
// ends if it is itself killed.
//
// The two talk over one socket pair: gob values, with the files of a command
// (outputs and lock) sent along. Times on it are of a clock that all processes of
// the machine share, so that neither is misled while it is frozen.
//
// Commands that name a lock hold a file locked until the last of their processes
// is gone: the next try of a job on the same host waits for it.
//
// Where there is no runner, as in the tests of a job type, Local starts commands
// as children of the process itself.
//
// The package knows nothing of jobs; it imports private, the standard library and
// x/sys.
package supervise
