// Package request is the life of a request in the Request Manager, a file per
// verb: create, dispatch, report, finish, stop, suspend, resume, recover.
//
// A Manager is stateless as far as requests go: everything it must not lose is in
// the store, every change there is a compare-and-set, and any number of managers
// may work on one database. What a Manager keeps in memory (requests that wait to
// be sent, what it heard of runners) it can find again in the store.
//
// It may import store, grapher, chain, job and proto. It talks to Job Runners
// through the small interface JobRunners.
package request
