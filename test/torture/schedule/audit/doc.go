// Package audit checks what the schedule engine did: it reads the database with SQL
// of its own and the traces that the members of a torture test wrote. It imports
// nothing of Treadle, so that it cannot share a mistake with what it checks.
//
// Times are Unix microseconds of the database, as it stores them; those of traces are
// Unix nanoseconds of the machine that all members run on.
package audit
