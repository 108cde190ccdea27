package chain

import (
	"slices"

	"github.com/treadle-run/treadle/proto"
)

// Chain is the state of one job chain. New and Resume make one. It has one
// owner: nothing in it may be called from two goroutines at a time.
//
// A Chain keeps the job chain, the values and the jobs that it is given, and
// takes them for immutable.
type Chain struct {
	*graph
	state   []jobState
	seqs    []sequence
	members []member
	groups  []group

	mode     mode
	entries  uint64
	finished uint // COMPLETE jobs, structural aside
	open     int  // jobs that are ready or wait for something but other jobs

	// running has the jobs that run, each with the sequence that waits for it to end
	// because it started again meanwhile, or none.
	running map[int32]int32
	ready   []int32 // candidates for Next, in no order; see jobState.listed
	waits   heap    // jobs by the time that their wait ends, in Unix nanoseconds
	// waitsMoved says that a deadline moved to an earlier time, so that waits is not
	// in order.
	waitsMoved bool
	held       map[int32][]int32          // sequence -> jobs that wait for the old runs in it
	roomy      []int32                    // groups in which a member may get room
	emptied    []int32                    // members that may have ended in this Apply
	failures   map[int32]proto.JobFailure // of jobs that failed and are not COMPLETE since
}

// none stands for no job, sequence, member or group.
const none int32 = -1

// mode is what may start.
type mode uint8

const (
	modeRun mode = iota
	modeSuspending
	modeStopping
)

// place is what a job that does not run is waiting for.
type place uint8

const (
	placeNone    place = iota // other jobs, or it has ended
	placeReady                // nothing: Next starts it
	placeWaiting              // a point in time
	placeParked               // room in a parallel group
	placeHeld                 // the end of jobs of an earlier run of a sequence around it
)

// jobState is all that changes of a job. A start changes nothing in it but
// place: what the log does not say must not be in a suspended job chain.
type jobState struct {
	own       proto.Values // what the job itself set
	flow      *flow        // what the job and those before it set; see data.go
	notBefore int64        // until when its next try waits, Unix nanoseconds
	prevs     int32        // previous jobs that are not COMPLETE
	left      int32        // next jobs that are not COMPLETE
	tries     uint32       // that ended, ever
	latest    uint32       // that used up one, in this run of its sequence
	state     proto.State  // PENDING, COMPLETE, FAIL or STOPPED
	place     place
	listed    bool // stands in Chain.ready
	reached   bool // was ready in this run of its sequence
	visited   bool // mark of a search in data.go
}

// RequestID returns the id of the request that the chain belongs to.
func (c *Chain) RequestID() string { return c.jc.RequestID }

// TotalJobs counts the jobs, structural ones aside.
func (c *Chain) TotalJobs() uint { return c.total }

// FinishedJobs counts the jobs that are COMPLETE, structural ones aside. It goes
// down when a sequence starts again.
func (c *Chain) FinishedJobs() uint { return c.finished }

// Entries counts the job log entries so far; it is the Seq of the next one.
func (c *Chain) Entries() uint64 { return c.entries }

// Stop is the durable intent to end: nothing starts any more, and once nothing
// runs the chain is STOPPED.
func (c *Chain) Stop() { c.mode = modeStopping }

// Suspend lets nothing start any more, so that the chain can be handed over
// once it is idle. After Stop it does nothing.
func (c *Chain) Suspend() {
	if c.mode == modeRun {
		c.mode = modeSuspending
	}
}

// Running returns the ids of the jobs that run, sorted.
func (c *Chain) Running() []string {
	ids := make([]string, 0, len(c.running))
	for j := range c.running {
		ids = append(ids, c.jobs[j].ID)
	}
	slices.Sort(ids)
	return ids
}

// Done returns the final state of the chain once it has ended. A stopped chain
// ends STOPPED as soon as it is idle, whatever its jobs did. A suspended one has
// ended only if nothing was left to do; else its Suspended is to be handed over.
func (c *Chain) Done() (proto.State, bool) {
	switch {
	case len(c.running) > 0:
		return proto.StateUnknown, false
	case c.mode == modeStopping:
		return proto.StateStopped, true
	case c.open > 0:
		return proto.StateUnknown, false
	case c.finished == c.total:
		return proto.StateComplete, true
	}
	return proto.StateFail, true
}

// setPlace moves a job to another place and keeps the counts that hang on it.
func (c *Chain) setPlace(j int32, p place) {
	s := &c.state[j]
	switch {
	case s.place == placeNone && p != placeNone:
		c.open++
		c.count(j, 1)
	case s.place != placeNone && p == placeNone:
		c.open--
		c.count(j, -1)
	}
	s.place = p
	if p == placeReady && !s.listed {
		s.listed = true
		c.ready = append(c.ready, j)
	}
}

// setRunning marks a job as running.
func (c *Chain) setRunning(j int32) {
	c.running[j] = none
	c.count(j, 1)
}

// setEnded takes the mark away, if the job has it: in a replay nothing runs.
func (c *Chain) setEnded(j int32) {
	if _, ok := c.running[j]; ok {
		delete(c.running, j)
		c.count(j, -1)
	}
}

// file puts a job whose previous jobs are all COMPLETE where it belongs.
func (c *Chain) file(j int32) {
	s := &c.state[j]
	s.reached = true
	if s.state == proto.StateComplete || s.state == proto.StateFail {
		return
	}
	if waiter, runs := c.running[j]; runs && waiter == none {
		return
	}
	holder := none
	for q := c.seqOf[j]; q != none; q = c.seqs[q].parent {
		if c.seqs[q].timedOut {
			return
		}
		if c.seqs[q].oldRuns > 0 {
			holder = q
		}
	}
	if holder != none {
		c.setPlace(j, placeHeld)
		c.held[holder] = append(c.held[holder], j)
		return
	}
	if at := c.wake(j); at != 0 {
		c.setPlace(j, placeWaiting)
		c.waits.push(at, j)
		return
	}
	c.setPlace(j, placeReady)
}
