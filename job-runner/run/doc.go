// Package run is what a Job Runner does: it takes job chains, runs the jobs of
// each, and reports what happened to a Request Manager.
//
// One goroutine owns each chain (chainRun): it alone calls the chain's state
// machine and answers to results, acknowledgements, commands and timers. Jobs
// run in goroutines of their own. One reporter gathers the job log entries of all
// chains into batches, one of which is outstanding at a time: an entry is durable
// before anything that depends on it starts. One heartbeat keeps the lease: a
// runner that has not been heard for that long stops its jobs by itself.
//
// The package knows nothing of HTTP; it may import chain, job and proto.
package run
