package schedule

import (
	"errors"
	"fmt"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/test/torture"
)

// Options say how a test runs.
type Options struct {
	// Store is the database. It is migrated if it is empty.
	Store database.Config
	// Program and Args start a member; the flags of MemberOptions are added to them.
	Program string
	Args    []string
	// DB is the kind of a database that the test starts, and may break; "" is that of
	// Store, which is somebody else's.
	DB string

	For     time.Duration // how long there are faults
	Members int
	Jobs    int
	Scale   time.Duration // the unit of all times; jobs have periods of 5 to 9 of them
	Seed    uint64
	// Slack makes up for a machine that is slow: by so much more is waited for what
	// must come. 0 is 1.
	Slack int
	// Keep leaves the rows of the test in the database.
	Keep bool
	// Clean removes what tests that were killed have left, first.
	Clean bool
	// Dir is where logs and traces go, and has none yet; "" is a temporary directory,
	// which is removed if all was well.
	Dir string
	// Say prints progress; nil does not.
	Say torture.Say
}

// Defaults are those of users.
func Defaults() Options {
	return Options{For: 10 * time.Minute, Members: 4, Jobs: 40, Scale: time.Second, Seed: 1, Slack: 1}
}

// Validate says what is wrong with the numbers.
func (o *Options) Validate() error {
	var errs []error
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	if o.DB != "" {
		_, err := torture.Servers(o.DB)
		errs = append(errs, err)
	}
	wrong(o.For <= 0, "--for must be more than 0")
	wrong(o.Members < 1 || o.Members > 64, "--members must be from 1 to 64")
	wrong(o.Jobs < 1 || o.Jobs > 10_000, "--jobs must be from 1 to 10000")
	wrong(o.Scale < 200*time.Millisecond || o.Scale > time.Hour, "--scale must be from 200ms to 1h")
	// The grid of a job must have whole microseconds.
	wrong(o.Scale%time.Millisecond != 0, "--scale must be in whole milliseconds")
	wrong(o.onSQLite() && o.Members > 1, "--members must be 1 on SQLite: one process has the file")
	return errors.Join(errs...)
}

// onSQLite reports whether the database is a file, which one process has at a time.
func (o *Options) onSQLite() bool {
	return o.DB == torture.OnSQLite || o.DB == "" && o.Store.SQLitePath != ""
}

// workers is the pool of each member.
const workers = 128

// timing is that of the engine at a scale.
type timing struct {
	poll, heartbeat, stale time.Duration
}

func timingOf(scale time.Duration) timing {
	return timing{poll: scale / 2, heartbeat: scale / 2, stale: 5 * scale}
}
