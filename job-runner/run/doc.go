// Package run is what a Job Runner does: it accepts job chains, runs the jobs of
// each, and reports what happened to a Request Manager.
//
// Read it in this order:
//
//	runner.go     Config, Runner: start and shutdown of everything below
//	lease.go      the right to run jobs, and the ID that it is held under
//	heartbeat.go  keeps the lease, and does what the answers of managers ask for
//	chains.go     the job chains that the runner has: accept, stop, suspend, drop
//	history.go    the job chains that it had, and those that it must not accept
//	loop.go       one goroutine per chain: chainRun
//	command.go    what others ask of a loop, and what it does then
//	try.go        one try of a job, sleep.go: one that only waits
//	reporter.go   brings the job log entries of all chains to the manager
//
// One goroutine owns each chain: it alone calls the chain's state machine, and reacts
// to results, acknowledgements, commands and timers. Jobs run in goroutines of their
// own. One reporter gathers the job log entries of all chains into batches, one of
// which is outstanding at a time: an entry is durable before anything that depends
// on it starts. A runner whose heartbeats get no answer for the length of its lease
// stops its jobs by itself.
//
// The package knows nothing of HTTP; it may import chain, job and proto.
package run
