// Package migrations has the steps that lead from an empty database to the
// present schema: the only schema there is. Steps are numbered, the same in both
// dialects, forward only; one that was released never changes. It imports the
// standard library alone.
package migrations

import (
	"embed"
	"io/fs"
)

//go:embed mysql/*.sql sqlite/*.sql
var files embed.FS

// MySQL returns the steps for MySQL, MariaDB and Galera.
func MySQL() fs.FS { return sub("mysql") }

// SQLite returns the steps for SQLite.
func SQLite() fs.FS { return sub("sqlite") }

func sub(dir string) fs.FS {
	f, err := fs.Sub(files, dir)
	if err != nil {
		panic(err) // the name is not a path: cannot be
	}
	return f
}
