// Package store keeps recurring work: apps, their instances, signals and events, and
// the members that run the schedule engine.
//
// An exported method is one transaction, retried as those of requests are
// (internal/database). A change of an instance is a compare-and-set on its sequence
// number and the member that has claimed it. What must happen once also holds on
// different nodes of a cluster, which do not see each other's row locks: it rests on a
// unique key, or on two transactions writing the same row, of which the cluster lets
// one through. A transaction writes the app first, then instances, the archive, signals
// and events.
//
// It shares the database with the store of requests (request-manager/store), and reads
// the table of that one in plain SQL: an instance waits for a request to finish, and
// SettledInstances asks which have finished.
//
// It imports proto and internal packages.
package store
