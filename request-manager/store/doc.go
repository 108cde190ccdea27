// Package store keeps requests, job chains, job logs and runners in MySQL (or
// MariaDB, or a Galera cluster) or in SQLite, and decides every change of a request's
// state: each is one compare-and-set on (state, epoch), so that of many managers and
// runners that believe a request is theirs, one at most is right.
//
// An exported method is one transaction. It is retried as a whole when the
// database says that trying again may help (internal/database); when the tries are
// used up, the error is ErrUnavailable. A method that was retried knows its own work
// by a token in a row that it wrote (InTxOnce, DoOnce): if the first try went through and
// only the answer was lost, it succeeds.
//
// A transaction takes its rows in a fixed order and holds no lock but those of
// the rows that it writes. No method holds a connection while it calls its
// caller back.
//
// It shares the database with the store of recurring work (schedule/store), and Check
// reads the tables of that one too, in plain SQL.
//
// The store knows nothing of specs, of what happens next in a chain, or of HTTP.
// It imports proto and internal packages.
package store
