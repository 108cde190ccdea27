// Package store keeps requests, job chains, job logs and runners in MySQL (or
// MariaDB, or a Galera cluster) or in SQLite. It has the only SQL of Treadle, and
// it is where every change of a request's state is decided: each is one
// compare-and-set on (state, epoch), so that of many managers and runners that
// believe a request is theirs, one at most is right.
//
// An exported method is one transaction. It is retried as a whole when the
// database says that trying again may help (retry.go); when the tries are used
// up, the error is ErrUnavailable. A method that was retried knows its own work:
// if the first try went through and only the answer was lost, it succeeds.
//
// A transaction takes its rows in a fixed order and holds no lock but those of
// the rows that it writes. No method holds a connection while it calls its
// caller back.
//
// Recurring work is in the files schedule_*.go. There, a change is a compare-and-set
// on (sequence number, member) of an instance. What must happen once also holds on
// different nodes of a cluster, which do not see each other's row locks: it rests on a
// unique key, or on two transactions writing the same row, of which the cluster lets
// one through. A transaction writes the app first, then instances, the archive, signals
// and events.
//
// The store knows nothing of specs, of what happens next in a chain, or of HTTP.
// It imports proto and migrations.
package store
