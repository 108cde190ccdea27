// Package schedule is the torture test of recurring work: members of the schedule engine,
// each a process of its own, run jobs on a real database, while they are killed, frozen,
// added and removed, and while the database is, too, if the test has started it. An
// auditor (package audit) watches all the time.
//
// Every success of a job writes an artifact and every undo deletes it, so that work
// that was lost, or was done by a member whose time was over, leaves a trace.
package schedule
