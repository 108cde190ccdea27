// Package chain is the job chain as a pure state machine. The Job Runner drives
// one Chain per request: it asks Next what may start, runs it, and gives every
// try that ended back with Apply. The Request Manager gives the stored job log to
// the same Apply and gets the same state: what comes after an entry follows from
// the job chain and the entries alone.
//
// The rules in short. A job is ready when every job before it is COMPLETE, its
// wait is over and its `parallel` group has room. A try that fails is repeated
// while the job has tries left; else the innermost sequence around it with tries
// left starts again from its beginning; else the job stays FAIL, and what does
// not depend on it goes on. The chain ends when nothing runs, is ready or waits.
//
// The package does no I/O, has no clock, goroutine or lock, and may import the
// standard library and proto only. A Chain is not safe for concurrent use.
package chain
