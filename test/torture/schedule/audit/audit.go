package audit

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"github.com/treadle-run/treadle/test/torture"
)

// Job is a recurring job of the test, as the auditor must know it.
type Job struct {
	App string
	// Every is the time between two starts on a grid from the Unix epoch, 0 for a job
	// with upstream jobs.
	Every time.Duration
	// Upstream has the jobs that it depends on, Period the length of its periods.
	Upstream []string
	Period   time.Duration
	// Allow says that its instances may run side by side.
	Allow bool
}

// Config is what an Audit needs.
type Config struct {
	DB    *sql.DB
	MySQL bool // or SQLite
	// Prefix begins the names of all apps of the test, and of no others.
	Prefix string
	// Artifacts is the table with the artifacts.
	Artifacts string
	Jobs      []Job
	// TraceDir has the traces of all processes.
	TraceDir string
	// Bound is for how long a member that was frozen may go on with what it was doing.
	Bound time.Duration
	// Found is what the auditor adds violations to.
	Found *torture.Findings
}

// Audit holds what was seen so far. Its methods are safe for concurrent use.
type Audit struct {
	cfg   Config
	rules []rule

	looking sync.Mutex // one look at a time
	seen    map[key]seen
	since   int64 // looks leave out what was archived before
	looks   int
	trace   *trace
}

// key names an instance.
type key struct {
	app    string
	number uint64
}

func (k key) String() string { return fmt.Sprintf("%s/%d", k.app, k.number) }

// New returns an auditor that has seen nothing.
func New(cfg Config) *Audit {
	return &Audit{
		cfg: cfg, rules: rules(cfg.Artifacts), seen: map[key]seen{},
		trace: newTrace(cfg.TraceDir, cfg.Bound, cfg.Found.Add),
	}
}

// Look checks what has changed since the last look, and all that is cheap. The error
// says that it could not look, for instance since the database is away.
func (a *Audit) Look(ctx context.Context) error {
	a.looking.Lock()
	defer a.looking.Unlock()
	if err := a.trace.read(); err != nil {
		return err
	}
	a.trace.check(time.Now().UnixNano())
	return a.snapshot(ctx, func(tx *sql.Tx) error {
		if err := a.checkRules(ctx, tx, a.since); err != nil {
			return err
		}
		newest, err := a.checkMoves(ctx, tx, a.since)
		if err != nil {
			return err
		}
		// Clocks of the nodes of a cluster may differ, and transactions take a while.
		a.since = max(a.since, newest-time.Minute.Microseconds())
		a.looks++
		return nil
	})
}

// Looks counts the looks that succeeded.
func (a *Audit) Looks() int {
	a.looking.Lock()
	defer a.looking.Unlock()
	return a.looks
}

// Final checks everything from the beginning. Nothing may run any more.
func (a *Audit) Final(ctx context.Context) error {
	a.looking.Lock()
	defer a.looking.Unlock()
	if err := a.trace.read(); err != nil {
		return err
	}
	a.trace.check(time.Now().UnixNano())
	return a.snapshot(ctx, func(tx *sql.Tx) error {
		if err := a.checkRules(ctx, tx, 0); err != nil {
			return err
		}
		if _, err := a.checkMoves(ctx, tx, 0); err != nil {
			return err
		}
		return a.checkLedger(ctx, tx)
	})
}

// snapshot calls f with a transaction that sees the database as it is at one moment.
func (a *Audit) snapshot(ctx context.Context, f func(*sql.Tx) error) error {
	opt := &sql.TxOptions{} // a transaction of SQLite sees one moment always
	if a.cfg.MySQL {
		opt = &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}
	}
	tx, err := a.cfg.DB.BeginTx(ctx, opt)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	return f(tx)
}

// between are the bounds of names with the prefix.
func (a *Audit) between() (from, to string) { return a.cfg.Prefix, a.cfg.Prefix + "\x7f" }

// The states of instances, as the database has them.
const (
	queued    = 1
	running   = 2
	toUndo    = 3
	undoing   = 4
	succeeded = 5
	failed    = 6
)
