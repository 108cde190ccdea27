// Package request is the life of a request in the Request Manager, a file per
// verb: create, dispatch, finish, stop, suspend, resume, recover.
//
//	Create                    Dispatch                     a runner reports the end
//	-----> PENDING ----------------------> RUNNING -----------------------> COMPLETE
//	        |   ^                          |  |  ^  \
//	        |   '- the runner refused it --'  |  |   '--------------------> FAIL
//	        |                                 |  |                           ^
//	        |         handed back by a runner,|  |Resume                     |
//	        |         or recovered from a     |  |(epoch+1)                  |
//	        |         dead one                v  |                           |
//	        |                               SUSPENDED -- for too long -------'
//	        |                                    |
//	        '------------- Stop -----------------'-------------------------> STOPPED
//
// A RUNNING request that is stopped ends STOPPED when its runner reports so, or
// when its runner is dead. A PENDING one FAILs if it can never run. COMPLETE, FAIL
// and STOPPED are final. Every hand-over to a runner raises the epoch of the
// request; a report under an older one is refused.
//
// A Manager keeps nothing that it must not lose: that is in the store, where every
// change is a compare-and-set, so that any number of managers may work on one
// database. What it has in memory (requests that wait to be sent, when runners were
// last seen) it can find again there.
//
// Its roles (dispatcher, resumer, recoverer, ...) are small structs, a file each,
// that get what they use from New and do not know the Manager.
//
// The package may import store, grapher, chain, job and proto. It talks to Job
// Runners through the small interface JobRunners.
package request
