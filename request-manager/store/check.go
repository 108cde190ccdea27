package store

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// The names of what Check looks at.
const (
	CheckRunner      = "running-without-runner" // RUNNING, and on no runner that has been seen lately
	CheckStop        = "stop-not-obeyed"        // to be stopped, and not STOPPED for too long
	CheckFinishTime  = "finish-time"            // ended without a finish time, or the other way round
	CheckFinished    = "finished-jobs"          // the count of finished jobs is not that of the log
	CheckLogGap      = "log-gap"                // the log is not numbered 0, 1, 2, ...
	CheckLogEpoch    = "log-epoch"              // an entry of a runner that had lost the request
	CheckLogAfterEnd = "log-after-end"          // a try that began after the request had ended
	CheckLogPending  = "log-pending"            // PENDING, and something of it has run
	CheckRerun       = "complete-run-again"     // a job was tried again after it was COMPLETE
	CheckNoSJC       = "suspended-without-sjc"  // SUSPENDED without a suspended job chain
	CheckSJC         = "sjc-without-suspended"  // a suspended job chain of a request that is not SUSPENDED
	CheckClaim       = "old-claim"              // a suspended job chain that is claimed for too long

	CheckMember  = "instance-without-member" // claimed by a member that is gone, and not taken over
	CheckNext    = "next-instance"           // not known as the one that comes next, or wrongly so
	CheckNumbers = "instance-numbers"        // the instances of an app are not numbered 1, 2, 3, ...
	CheckSlot    = "slot-without-instance"   // the slot of an app is held by an instance that has ended
	CheckSignal  = "old-signal"              // nobody has looked whether a period is complete
)

// Checks lists the names of all that Check looks at.
func Checks() []string {
	return []string{
		CheckRunner, CheckStop, CheckFinishTime, CheckFinished, CheckLogGap, CheckLogEpoch,
		CheckLogAfterEnd, CheckLogPending, CheckRerun, CheckNoSJC, CheckSJC, CheckClaim,
		CheckMember, CheckNext, CheckNumbers, CheckSlot, CheckSignal,
	}
}

// Finding is something in the database that must never be so.
type Finding struct {
	Check     string `json:"check"` // one of Checks
	RequestID string `json:"requestId,omitempty"`
	App       string `json:"app,omitempty"` // if it is about recurring work
	Message   string `json:"message"`
}

// CheckOptions says from when on something is wrong, and how much is looked at.
type CheckOptions struct {
	// Since is how long ago the oldest finished request that is looked at ended; 0
	// looks at all.
	Since time.Duration
	// RunnerSilence, StopAge and ClaimAge are how long a runner may not be seen,
	// a stop not be applied, and a claim exist.
	RunnerSilence, StopAge, ClaimAge time.Duration
	// MemberSilence is how long what a member has claimed may stay so after it was last
	// seen, SignalAge how long a signal may be there; 0 is 75 seconds and 10 minutes.
	MemberSilence, SignalAge time.Duration
	// ClockSkew is by how much the clocks of runners may be off.
	ClockSkew time.Duration
	// Findings limits what is returned of each check; 0 is 100.
	Findings int
	// Requests limits what is looked at in each state, the oldest of those that
	// go on and the newest of those that ended; 0 is no limit. It also bounds apps and
	// instances; with it, the archive is not counted.
	Requests int
	// Replay, if not nil, returns how many jobs of the request had finished when its
	// log had that many entries. It is asked where sequences may have started again,
	// which the log alone does not tell.
	Replay func(ctx context.Context, id string, entries uint64) (finishedJobs uint, err error)
}

// CheckResult is what Check found.
type CheckResult struct {
	Requests int       `json:"requests"` // how many were looked at
	Findings []Finding `json:"findings"`
	// Cut has the checks that found more than is returned.
	Cut []string `json:"cut"`
}

func (o CheckOptions) withDefaults() CheckOptions {
	o.Findings = cmp.Or(o.Findings, defaultFindings)
	o.MemberSilence = cmp.Or(o.MemberSilence, defaultMemberSilence)
	o.SignalAge = cmp.Or(o.SignalAge, defaultSignalAge)
	return o
}

const (
	defaultFindings = 100

	defaultMemberSilence = 75 * time.Second
	defaultSignalAge     = 10 * time.Minute

	checkPage = 200    // requests in one transaction
	checkJobs = 20_000 // jobs in one statement about logs, or one request
)

// Check looks for what must never be so. It only reads, page by page by index, each
// page as it was at one moment, so that it can run beside everything else.
func (s *Store) Check(ctx context.Context, opt CheckOptions) (CheckResult, error) {
	opt = opt.withDefaults()
	c := &checker{s: s, opt: opt, counts: map[string]int{}}
	err := c.run(ctx)
	c.result.Findings = append([]Finding{}, c.result.Findings...) // in JSON, none is []
	c.result.Cut = []string{}
	for _, name := range Checks() {
		if c.counts[name] > opt.Findings {
			c.result.Cut = append(c.result.Cut, name)
		}
	}
	return c.result, err
}

// checker is one run of Check.
type checker struct {
	s      *Store
	opt    CheckOptions
	counts map[string]int // of all findings, by check
	result CheckResult
}

// found is what one transaction found; it counts only if that went through.
type found struct {
	requests int
	findings []Finding
	replay   []recount
}

func (f *found) add(check, id, format string, args ...any) {
	f.findings = append(f.findings, Finding{Check: check, RequestID: id, Message: fmt.Sprintf(format, args...)})
}

func (c *checker) take(f *found) {
	c.result.Requests += f.requests
	for _, x := range f.findings {
		if c.counts[x.Check]++; c.counts[x.Check] <= c.opt.Findings {
			c.result.Findings = append(c.result.Findings, x)
		}
	}
}

func (c *checker) run(ctx context.Context) error {
	since := int64(0)
	if c.opt.Since > 0 {
		now, err := c.s.Now(ctx)
		if err != nil {
			return err
		}
		since = now.Add(-c.opt.Since).UnixMicro()
	}
	for _, state := range []proto.State{proto.StateRunning, proto.StateSuspended, proto.StatePending} {
		err := c.scan(ctx, func(last *checkRow) *database.Query {
			q := c.s.db.Query("SELECT "+checkColumns+" FROM requests r{index requests_state}"+joinRunner+" WHERE r.state = ?", state)
			return addOldestFirst(q, last)
		}, c.checkRequests)
		if err != nil {
			return err
		}
	}
	if err := c.scan(ctx, c.unfinished, c.checkUnfinished); err != nil {
		return err
	}
	err := c.scan(ctx, func(last *checkRow) *database.Query { return c.finished(since, last) }, c.checkFinished)
	if err != nil {
		return err
	}
	if err := c.checkSJCs(ctx); err != nil {
		return err
	}
	return c.checkSchedule(ctx)
}

// unfinished reads what has no finish time, from the index on it.
func (c *checker) unfinished(last *checkRow) *database.Query {
	q := c.s.db.Query("SELECT " + checkColumns + " FROM requests r{index requests_finished}" + joinRunner + " WHERE r.finished_at IS NULL")
	return addOldestFirst(q, last)
}

// addOldestFirst appends the next page by creation: the index read from its end.
func addOldestFirst(q *database.Query, last *checkRow) *database.Query {
	if last != nil {
		q.Add(" AND r.created_at >= ? AND (r.created_at > ? OR r.request_id < ?)", last.created, last.created, last.id)
	}
	return q.Add(" ORDER BY r.created_at, r.request_id DESC LIMIT ?", checkPage)
}

// finished reads what has a finish time since then, newest first.
func (c *checker) finished(since int64, last *checkRow) *database.Query {
	q := c.s.db.Query("SELECT "+checkColumns+" FROM requests r{index requests_finished}"+joinRunner+" WHERE r.finished_at >= ?", since)
	if last != nil {
		f := last.finished.Int64
		q.Add(` AND r.finished_at <= ? AND (r.finished_at < ? OR r.created_at > ? OR (r.created_at = ? AND r.request_id < ?))`,
			f, f, last.created, last.created, last.id)
	}
	// The index read from its end.
	return q.Add(" ORDER BY r.finished_at DESC, r.created_at, r.request_id DESC LIMIT ?", checkPage)
}

const (
	checkColumns = `r.request_id, r.state, r.epoch, r.created_at, r.finished_at, r.stop_requested_at,
		r.handover_at, r.runner_id, j.heartbeat_at, r.total_jobs, r.finished_jobs`
	joinRunner = " LEFT JOIN job_runners j ON j.runner_id = r.runner_id AND j.gone_at IS NULL"
)

// checkRow is a request as it was at the moment of its page; times are
// microseconds.
type checkRow struct {
	id                                  string
	state                               proto.State
	epoch                               uint64
	created                             int64
	finished, stop, handover, heartbeat sql.NullInt64
	runner                              sql.NullString
	total, done                         uint
}

func scanCheckRow(scan func(...any) error) (*checkRow, error) {
	r := &checkRow{}
	err := scan(&r.id, &r.state, &r.epoch, &r.created, &r.finished, &r.stop,
		&r.handover, &r.runner, &r.heartbeat, &r.total, &r.done)
	return r, err
}

// scan reads requests in pages: read makes the statement for those after the last
// one, check looks at them in the same transaction.
func (c *checker) scan(ctx context.Context, read func(last *checkRow) *database.Query,
	check func(ctx context.Context, t *database.Tx, page []*checkRow, f *found) error) error {
	var last *checkRow
	for seen := 0; c.opt.Requests == 0 || seen < c.opt.Requests; {
		var page []*checkRow
		var f *found
		err := c.s.db.ReadTx(ctx, "check", func(ctx context.Context, t *database.Tx) error {
			page, f = nil, &found{}
			err := read(last).Rows(ctx, t, func(scan func(...any) error) error {
				r, err := scanCheckRow(scan)
				page = append(page, r)
				return err
			})
			if err != nil || len(page) == 0 {
				return err
			}
			return check(ctx, t, page, f)
		})
		if err != nil {
			return err
		}
		c.take(f)
		if err := c.recount(ctx, f.replay); err != nil {
			return err
		}
		if len(page) < checkPage {
			return nil
		}
		seen += len(page)
		last = page[len(page)-1]
	}
	return nil
}

// checkUnfinished looks for requests that have ended and do not say when; the
// others are looked at by state.
func (c *checker) checkUnfinished(_ context.Context, _ *database.Tx, page []*checkRow, f *found) error {
	for _, r := range page {
		if r.state.Final() {
			f.add(CheckFinishTime, r.id, "it is %s without a finish time", r.state)
		}
	}
	return nil
}

// checkFinished looks at requests that have a finish time; those that have one too
// early are looked at by state.
func (c *checker) checkFinished(ctx context.Context, t *database.Tx, page []*checkRow, f *found) error {
	ended := make([]*checkRow, 0, len(page))
	for _, r := range page {
		if r.state.Final() {
			ended = append(ended, r)
		}
	}
	return c.checkRequests(ctx, t, ended, f)
}

// checkRequests looks at requests, their logs and their suspended job chains.
func (c *checker) checkRequests(ctx context.Context, t *database.Tx, page []*checkRow, f *found) error {
	now, err := c.s.db.ReadNow(ctx, t)
	if err != nil {
		return err
	}
	f.requests = len(page)
	for _, r := range page {
		c.checkRow(r, now, f)
	}
	if err := c.checkSuspended(ctx, t, page, f); err != nil {
		return err
	}
	return c.checkLogs(ctx, t, page, f)
}

// checkRow looks at what the request's own row says.
func (c *checker) checkRow(r *checkRow, now int64, f *found) {
	age := func(at sql.NullInt64) time.Duration {
		return time.Duration(now-at.Int64) * time.Microsecond
	}
	if r.finished.Valid && !r.state.Final() {
		f.add(CheckFinishTime, r.id, "it is %s and has a finish time", r.state)
	}
	// A hand-over to a runner counts as a sign of life, for what is on its way.
	silent := age(r.handover)
	if r.heartbeat.Valid {
		silent = min(silent, age(r.heartbeat))
	}
	switch {
	case r.state != proto.StateRunning:
	case !r.runner.Valid:
		f.add(CheckRunner, r.id, "it is RUNNING on no runner")
	case silent <= c.opt.RunnerSilence:
	case !r.heartbeat.Valid:
		f.add(CheckRunner, r.id, "its runner %s is not registered, and was given it %s ago", r.runner.String, seconds(silent))
	default:
		f.add(CheckRunner, r.id, "its runner %s was last seen %s ago", r.runner.String, seconds(silent))
	}
	switch {
	case !r.stop.Valid || r.state.Final():
	case r.state != proto.StateRunning:
		f.add(CheckStop, r.id, "it is to be stopped, and still %s", r.state)
	case age(r.stop) > c.opt.StopAge:
		f.add(CheckStop, r.id, "it was to be stopped %s ago, and is still RUNNING", seconds(age(r.stop)))
	}
}

func seconds(d time.Duration) time.Duration { return d.Round(time.Second) }
