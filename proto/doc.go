// Package proto holds the nouns of Treadle as they stand on the wire and in the
// database: requests, job chains, job log entries, runners, reports, and the one
// error type. It has the states, and nothing that does I/O.
//
// It imports the standard library alone; every other package may import it.
// JSON field names follow the v1 wire format (docs/api.md): renaming one breaks
// clients that exist.
package proto
