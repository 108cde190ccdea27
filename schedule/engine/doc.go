// Package engine runs recurring work: it starts the instances of apps when they are due,
// sees them through, and makes the next ones. It runs in every Request Manager, without
// a leader.
//
// All that lasts is in the store. A member (a process that runs the engine) claims an
// instance, works on it for a moment and releases it: an instance that waits for its
// request, its host or its time is a row with a time to look at it again, and nothing in
// memory. Whatever a member did not do, because it died or froze, another one does.
//
// # The life of an instance
//
//	         made: by the calendar with the end of the one before,
//	         by a signal once all upstream apps have SUCCEEDED, or by a backfill
//	                                 │
//	held: its host is down,          ▼
//	another one runs, paused  ┌──▶ QUEUED ───▶ becomes the instance of a later period,
//	                          └──────┤         if its own was missed (policy)
//	                                 │ claim
//	parked: its request       ┌──▶   ▼
//	has not ended             └── RUNNING ────────────────▶ SUCCEEDED
//	                                 │ fails, or its timeout    archived; signals to
//	                                 ▼                          dependent apps
//	parked: the undo failed,  ┌─▶ TO_UNDO
//	the next try is later     │      │ starts the undo
//	                          │      ▼
//	                          └── UNDOING ────────────────▶ FAILED
//	                                      undone, or      archived; an event
//	                                      abandoned by a user
//
// Each move is a compare-and-set on the sequence number and the member: if another member
// was faster, the step is dropped. A recurring instance that ends makes the next one in
// the transaction that archives it.
//
// # The roles
//
// Engine.New gives each role what it uses; runTerm starts them all, in order. No role
// knows the Engine. From a due app to its request, the files are read in this order:
//
//	fetcher.go     finds the instances that are due
//	dispatcher.go  has a worker look at each when its time comes
//	executor.go    asks the policy of the app, and claims the instance
//	../plan        (policy.go, catchup.go, app.go) decides whether it runs
//	work.go        calls the hook, and parks or moves the instance
//	requests.go    is the hook: creates the request, or looks at it
//	finish.go      archives the instance, makes the next, gives signals
//	signals.go     makes the instances of apps that depend on it
//
// The engine does not know what an instance does: a Hook does. RequestHook is the one
// that starts a request and sees it through.
//
// The package may import plan, ledger, store, calendar and proto. It asks for requests
// through an interface of its own.
package engine
