package store

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/go-sql-driver/mysql"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/treadle-run/treadle/migrations"
)

// dialect is all that differs between the databases, apart from how they are
// opened.
type dialect struct {
	name       string
	migrations func() fs.FS
	// now is an expression for the time in microseconds, fixed for the length of a
	// statement; "" where the process has the only clock there is.
	now string
	// useIndex and usePrimary stand after the table's name and name the index that
	// the statement is written for, so that its plan does not depend on statistics.
	useIndex   func(index string) string
	usePrimary string
	// joinInOrder joins two tables, the left one read first.
	joinInOrder string
	// forUpdate ends a SELECT that locks what it reads, where a transaction does not
	// have the database for itself.
	forUpdate string
	// upsert stands between an INSERT and what is set where a row with that key is
	// there.
	upsert string
	// classify says what kind of error the driver returned.
	classify func(error) errorClass
}

// errorClass says what can be done about an error.
type errorClass int

const (
	classOther     errorClass = iota // give up
	classAgain                       // rolled back for the sake of another transaction: again at once
	classAway                        // the database is not there, or not for writing: again later
	classFull                        // the disk is full: again later
	classDuplicate                   // a row with that key is there
	classData                        // the database cannot hold this data
)

var mysqlDialect = dialect{
	name:       "mysql",
	migrations: migrations.MySQL,
	// Sessions are in UTC, so that no local hour comes twice.
	now:         "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)",
	useIndex:    func(index string) string { return " FORCE INDEX (" + index + ")" },
	usePrimary:  " FORCE INDEX (PRIMARY)",
	joinInOrder: "STRAIGHT_JOIN",
	forUpdate:   " FOR UPDATE",
	upsert:      " ON DUPLICATE KEY UPDATE ",
	classify:    classifyMySQL,
}

var sqliteDialect = dialect{
	name:       "sqlite",
	migrations: migrations.SQLite,
	useIndex:   func(index string) string { return " INDEXED BY " + index },
	// SQLite cannot name the index of a primary key.
	usePrimary:  "",
	joinInOrder: "CROSS JOIN",
	upsert:      " ON CONFLICT DO UPDATE SET ",
	classify:    classifySQLite,
}

// mysqlClasses has the errors of MySQL, MariaDB and Galera that have a class of
// their own.
var mysqlClasses = map[uint16]errorClass{
	1213: classAgain, // deadlock; in a cluster: certification failed
	1205: classAgain, // lock wait timeout
	1020: classAgain, // MariaDB: record has changed since last read in the snapshot
	1180: classAgain, // error during commit: in a cluster, certification failed

	1047: classAway,                                                    // Galera: not ready (or a command unknown to a proxy)
	1040: classAway,                                                    // too many connections
	1203: classAway,                                                    // too many connections of this user
	1053: classAway,                                                    // server shutdown in progress
	1077: classAway,                                                    // normal shutdown
	1079: classAway,                                                    // shutdown complete
	1152: classAway,                                                    // aborted connection
	1158: classAway, 1159: classAway, 1160: classAway, 1161: classAway, // network
	1184: classAway, // aborted connection
	1317: classAway, // query execution was interrupted: the server shuts down, or a kill
	1290: classAway, // read only, after a failover
	1792: classAway, // read-only transaction
	1836: classAway, // read-only mode
	1927: classAway, // connection was killed
	2006: classAway, // server has gone away
	2013: classAway, // lost connection
	3169: classAway, // session was killed
	4031: classAway, // disconnected for inactivity

	1021: classFull, // disk full
	1114: classFull, // the table is full: InnoDB found no room on the disk

	1062: classDuplicate,
	1586: classDuplicate,

	1118: classData, // row too large
	1153: classData, // packet too large
	1264: classData, // out of range
	1366: classData, // incorrect string value
	1406: classData, // too long for the column
	1301: classData, // result larger than max_allowed_packet
}

func classifyMySQL(err error) errorClass {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		// This one has no number of its own.
		if e.Number == 1105 && strings.Contains(e.Message, "max_allowed_packet") {
			return classData
		}
		return mysqlClasses[e.Number]
	}
	if errors.Is(err, mysql.ErrPktTooLarge) {
		return classData
	}
	if errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, mysql.ErrMalformPkt) || errors.Is(err, mysql.ErrBusyBuffer) {
		return classAway
	}
	return classifyConn(err)
}

func classifySQLite(err error) errorClass {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return classifyConn(err)
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE:
		return classDuplicate
	}
	switch e.Code() & 0xff { // the rest is detail
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return classAgain
	case sqlite3.SQLITE_FULL:
		return classFull
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY:
		return classAway
	case sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_CONSTRAINT:
		return classData
	}
	return classOther
}
