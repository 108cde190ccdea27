// Package torture tests the schedule engine on a real database: members, each a
// process of its own, run recurring jobs, while they are killed, frozen, added and
// removed, and while the database is, too, if it belongs to the test. An auditor
// (package audit) watches all the time.
//
// Every success of a job writes an artifact and every undo deletes it, so that work
// that was lost, or was done by a member whose time was over, leaves a trace.
//
// The package may import schedule, store and proto. What is killed besides members is
// given to it: it starts no database.
package torture
