// Package engine runs recurring work: it starts the instances of apps when they
// are due, sees them through, and makes the next ones. It runs in every Request
// Manager, without a leader.
//
// All that lasts is in the store. A member (a process that runs the engine) claims
// an instance, works on it for a moment and gives it up again: an instance that waits
// for its request, its host or its time is a row with a time to look at it again, and
// nothing in memory. Whatever a member did not do, because it died or froze, another
// one does.
//
// The engine does not know what an instance does: a Hook does. RequestHook is the one
// that starts a request and sees it through.
//
// The package may import store, calendar and proto. It asks for requests through an
// interface of its own.
package engine
