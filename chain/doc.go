// Package chain is the job chain as a pure state machine. The Job Runner drives
// one Chain per request: it asks Next what may start, runs it, and gives every
// try that ended back with Apply. The Request Manager gives the stored job log to
// the same Apply and gets the same state: what comes after an entry follows from
// the job chain and the entries alone.
//
// # A job
//
// It is ready when every job before it is COMPLETE, its wait is over, its `parallel`
// group has room, and no try of an earlier run of its sequence is left. Next starts
// it, and the entry of the try says how it ended:
//
//	             Next              entry COMPLETE
//	PENDING ---------------> runs ----------------> COMPLETE
//	 ^ ^ ^                   | | |                     |
//	 | | | FAIL, tries left  | | | FAIL, none left     |
//	 | | +-------------------+ | +-----------------> FAIL
//	 | |     (after its wait)  |                       |
//	 | |                       | STOPPED: the same     |
//	 | |                       | try again, which      |
//	 | +-----------------------+ uses up none          |
//	 |                                                 |
//	 |      a sequence around the job starts again     |
//	 +-------------------------------------------------+
//
// # A sequence
//
// A job without tries left fails the innermost sequence around it that has some.
// Without such a sequence the job stays FAIL, and what does not depend on it goes on.
//
//	      first job starts             every job COMPLETE
//	waits ---------------> in progress -----------------> complete
//	                        |  ^   |
//	   fails, tries left:   |  |   | its timeout passes: nothing in it
//	   everything in it is  |  |   | is tried again, and the sequences
//	   PENDING again, and   +--+   | around it may start again
//	   starts after its wait,      v
//	   once its old runs ended    failed
//
// # The whole chain
//
//	 New
//	-----> run ---- nothing runs, is ready or waits ----> COMPLETE, if every job is;
//	       | |                                            else FAIL
//	       | |   Stop                     idle
//	       | +----------> stopping ---------------------> STOPPED
//	       |                 ^
//	       | Suspend         | Stop
//	       +----------> suspending ---- idle -----------> Suspended, and Resume elsewhere;
//	                                                      COMPLETE or FAIL, if nothing was
//	                                                      left to do
//
// The package does no I/O, has no clock, goroutine or lock, and may import the
// standard library and proto only. A Chain is not safe for concurrent use.
package chain
