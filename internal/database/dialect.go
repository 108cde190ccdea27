package database

import (
	"errors"
	"io/fs"
	"strings"

	"github.com/go-sql-driver/mysql"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/treadle-run/treadle/migrations"
)

// Dialect is all that differs between the databases, apart from how they are
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
	Classify func(error) ErrorClass
}

// ErrorClass says what can be done about an error.
type ErrorClass int

// Classes of errors.
const (
	ClassOther     ErrorClass = iota // not tried again
	ClassAgain                       // rolled back for the sake of another transaction: again at once
	ClassAway                        // the database is not there, or not for writing: again later
	ClassFull                        // the disk is full: again later
	ClassReadOnly                    // the database can only be read: again later
	ClassDenied                      // its user may not do this: give up
	ClassDuplicate                   // a row with that key is there
	ClassData                        // the database cannot hold this data
)

// MySQLDialect is that of MySQL, MariaDB and Galera clusters.
var MySQLDialect = dialect{
	name:       "mysql",
	migrations: migrations.MySQL,
	// Sessions are in UTC, so that no local hour comes twice.
	now:         "CAST(UNIX_TIMESTAMP(NOW(6)) * 1000000 AS SIGNED)",
	useIndex:    func(index string) string { return " FORCE INDEX (" + index + ")" },
	usePrimary:  " FORCE INDEX (PRIMARY)",
	joinInOrder: "STRAIGHT_JOIN",
	forUpdate:   " FOR UPDATE",
	upsert:      " ON DUPLICATE KEY UPDATE ",
	Classify:    classifyMySQL,
}

// SQLiteDialect is that of SQLite.
var SQLiteDialect = dialect{
	name:       "sqlite",
	migrations: migrations.SQLite,
	useIndex:   func(index string) string { return " INDEXED BY " + index },
	// SQLite cannot name the index of a primary key.
	usePrimary:  "",
	joinInOrder: "CROSS JOIN",
	upsert:      " ON CONFLICT DO UPDATE SET ",
	Classify:    classifySQLite,
}

// mysqlClasses has the errors of MySQL, MariaDB and Galera that have a class of
// their own.
var mysqlClasses = map[uint16]ErrorClass{
	1213: ClassAgain, // deadlock; in a cluster: certification failed
	1205: ClassAgain, // lock wait timeout
	1020: ClassAgain, // MariaDB: record has changed since last read in the snapshot
	1180: ClassAgain, // error during commit: in a cluster, certification failed

	1047: ClassAway,                                                    // Galera: not ready (or a command unknown to a proxy)
	1040: ClassAway,                                                    // too many connections
	1203: ClassAway,                                                    // too many connections of this user
	1053: ClassAway,                                                    // server shutdown in progress
	1077: ClassAway,                                                    // normal shutdown
	1079: ClassAway,                                                    // shutdown complete
	1152: ClassAway,                                                    // aborted connection
	1158: ClassAway, 1159: ClassAway, 1160: ClassAway, 1161: ClassAway, // network
	1184: ClassAway, // aborted connection
	1317: ClassAway, // query execution was interrupted: the server shuts down, or a kill
	1927: ClassAway, // connection was killed
	2006: ClassAway, // server has gone away
	2013: ClassAway, // lost connection
	3169: ClassAway, // session was killed
	4031: ClassAway, // disconnected for inactivity

	1290: ClassReadOnly, // read only, after a failover
	1792: ClassReadOnly, // read-only transaction
	1836: ClassReadOnly, // read-only mode

	1044: ClassDenied, // no right to the database
	1045: ClassDenied, // no such user, or another password
	1142: ClassDenied, // no right to do this with the table
	1143: ClassDenied, // or with a column of it
	1227: ClassDenied, // no right to the operation
	1698: ClassDenied, // no right to log in like this

	1021: ClassFull, // disk full
	1114: ClassFull, // the table is full: InnoDB found no room on the disk

	1062: ClassDuplicate,
	1586: ClassDuplicate,

	1118: ClassData, // row too large
	1153: ClassData, // packet too large
	1264: ClassData, // out of range
	1366: ClassData, // incorrect string value
	1406: ClassData, // too long for the column
	1301: ClassData, // result larger than max_allowed_packet
}

func classifyMySQL(err error) ErrorClass {
	if e, ok := errors.AsType[*mysql.MySQLError](err); ok {
		// This one has no number of its own.
		if e.Number == 1105 && strings.Contains(e.Message, "max_allowed_packet") {
			return ClassData
		}
		return mysqlClasses[e.Number]
	}
	if errors.Is(err, mysql.ErrPktTooLarge) {
		return ClassData
	}
	if errors.Is(err, mysql.ErrInvalidConn) || errors.Is(err, mysql.ErrMalformPkt) || errors.Is(err, mysql.ErrBusyBuffer) {
		return ClassAway
	}
	return classifyConn(err)
}

func classifySQLite(err error) ErrorClass {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return classifyConn(err)
	}
	switch e.Code() {
	case sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY, sqlite3.SQLITE_CONSTRAINT_UNIQUE:
		return ClassDuplicate
	}
	switch e.Code() & 0xff { // the rest is detail
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return ClassAgain
	case sqlite3.SQLITE_FULL:
		return ClassFull
	case sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN:
		return ClassAway
	case sqlite3.SQLITE_READONLY:
		return ClassReadOnly
	case sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH:
		return ClassDenied
	case sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_CONSTRAINT:
		return ClassData
	}
	return ClassOther
}
