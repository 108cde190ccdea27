package chain

import (
	"cmp"
	"slices"

	"github.com/treadle-run/treadle/proto"
)

// group is a `parallel` group. Its members stand in one sequence, so a member
// that has room and waits for room of a group inside it never blocks others
// for good.
type group struct {
	limit  uint
	used   uint
	queue  heap // members that wait for room, in topological order
	listed bool // stands in Chain.roomy
}

// member is a job or a sequence that runs only while it has room in its group.
// It gets room when its first job starts and keeps it, through retries and
// waits, until nothing in it runs, is ready or waits.
type member struct {
	group   int32
	first   int32   // its first job in topological order
	active  int32   // jobs in it that run, are ready or wait
	parked  []int32 // jobs in it that are ready but for room
	hasRoom bool
	queued  bool // stands in group.queue
}

// newGroups checks the parallel groups and finds their members.
func newGroups(g *graph, seqs []sequence) ([]member, []group, error) {
	var members []member
	var groups []group
	number := make(map[string]int32, len(g.jc.Parallel))
	parents := make([]string, 0, len(g.jc.Parallel)) // the sequence of each group
	join := func(what, id, name, parent string, first int32) error {
		n, ok := number[name]
		if !ok {
			limit, ok := g.jc.Parallel[name]
			if !ok || limit == 0 {
				return invalid(g.jc, "%s %q is in the parallel group %q, which has no limit of at least 1", what, id, name)
			}
			n = int32(len(groups))
			number[name] = n
			groups = append(groups, group{limit: limit})
			parents = append(parents, parent)
		}
		if parents[n] != parent {
			return invalid(g.jc, "%s %q is in the parallel group %q of another sequence", what, id, name)
		}
		members = append(members, member{group: n, first: first})
		return nil
	}
	g.memberOf = make([]int32, len(g.jobs))
	for j, job := range g.jobs {
		g.memberOf[j] = none
		if job.Group == "" || job.Structural {
			continue
		}
		g.memberOf[j] = int32(len(members))
		if err := join("job", job.ID, job.Group, job.SequenceID, int32(j)); err != nil {
			return nil, nil, err
		}
	}
	for q := range seqs {
		s := &seqs[q]
		if s.spec.Group == "" || s.lo == s.hi {
			continue
		}
		first := g.bySeq[s.lo]
		for _, j := range g.bySeq[s.lo:s.hi] {
			first = min(first, j)
		}
		s.member = int32(len(members))
		if err := join("sequence", s.id, s.spec.Group, s.spec.Parent, first); err != nil {
			return nil, nil, err
		}
	}
	return members, groups, nil
}

// membersOf calls do for each member that a job belongs to, from the innermost
// outwards.
func (c *Chain) membersOf(j int32, do func(m int32)) {
	if len(c.members) == 0 {
		return
	}
	if m := c.memberOf[j]; m != none {
		do(m)
	}
	for q := c.seqOf[j]; q != none; q = c.seqs[q].parent {
		if m := c.seqs[q].member; m != none {
			do(m)
		}
	}
}

// count adds to the active jobs of the members that a job belongs to.
func (c *Chain) count(j, by int32) {
	c.membersOf(j, func(m int32) {
		c.members[m].active += by
		if c.members[m].active == 0 {
			c.emptied = append(c.emptied, m)
		}
	})
}

// roomless returns the outermost member around a job that has no room yet.
func (c *Chain) roomless(j int32) int32 {
	found := none
	c.membersOf(j, func(m int32) {
		if !c.members[m].hasRoom {
			found = m
		}
	})
	return found
}

// enter gives a member room without asking for the limit.
func (c *Chain) enter(m int32) {
	if !c.members[m].hasRoom {
		c.members[m].hasRoom = true
		c.groups[c.members[m].group].used++
	}
}

// park lets a job wait until member m has room.
func (c *Chain) park(j, m int32) {
	mb := &c.members[m]
	c.setPlace(j, placeParked)
	mb.parked = append(mb.parked, j)
	if !mb.queued {
		mb.queued = true
		c.groups[mb.group].queue.push(int64(mb.first), m)
		c.offerRoom(mb.group)
	}
}

// offerRoom has Next see whether the members of a group get room.
func (c *Chain) offerRoom(n int32) {
	if !c.groups[n].listed {
		c.groups[n].listed = true
		c.roomy = append(c.roomy, n)
	}
}

// admit gives room to the members that wait for it, as far as there is some, and
// makes their jobs ready.
func (c *Chain) admit() {
	for _, n := range c.roomy {
		g := &c.groups[n]
		g.listed = false
		for g.used < g.limit && len(g.queue) > 0 {
			m := g.queue.pop().i
			c.members[m].queued = false
			// A member whose jobs were taken back meanwhile takes no room.
			if c.unpark(m) {
				c.enter(m)
			}
		}
	}
	c.roomy = c.roomy[:0]
}

// unpark makes the jobs that wait for room of a member ready, and reports whether
// there was one.
func (c *Chain) unpark(m int32) bool {
	parked := c.members[m].parked
	c.members[m].parked = nil
	found := false
	for _, j := range parked {
		if c.state[j].place == placeParked {
			c.setPlace(j, placeReady)
			found = true
		}
	}
	return found
}

// releaseRooms takes the room of members that have ended. It runs at the end of each
// Apply: in the middle of it, a member may seem to have ended.
func (c *Chain) releaseRooms() {
	for _, m := range c.emptied {
		mb := &c.members[m]
		if mb.active > 0 || !mb.hasRoom {
			continue
		}
		mb.hasRoom = false
		c.groups[mb.group].used--
		c.offerRoom(mb.group)
	}
	c.emptied = c.emptied[:0]
}

// clearGroups takes the room of every member inside a sequence that starts
// again. The members of a group stand in one sequence, so none of them is
// left; and none gets room again before the old runs have ended.
func (c *Chain) clearGroups(q int32) {
	drop := func(m int32) {
		if m == none {
			return
		}
		mb := &c.members[m]
		mb.hasRoom, mb.queued, mb.parked = false, false, nil
		c.groups[mb.group].used = 0
		c.groups[mb.group].queue = nil
	}
	for i := q + 1; i < c.seqs[q].end; i++ {
		drop(c.seqs[i].member)
	}
	for _, j := range c.jobsIn(q) {
		drop(c.memberOf[j])
	}
}

// enterStarted gives room to the members of which something ran already and
// something is left to do, before any other: they had it before the chain was
// handed over. A graph with an edge out of the middle of a member may have more
// of them than the limit, because such a member can end and start again.
func (c *Chain) enterStarted() {
	var started []int32
	seen := make([]bool, len(c.members))
	found := func(m int32) {
		if c.members[m].active > 0 && !seen[m] {
			seen[m] = true
			started = append(started, m)
		}
	}
	for j := range c.state {
		s := &c.state[j]
		if !c.jobs[j].Structural && (s.state != proto.StatePending || s.latest > 0) {
			c.membersOf(int32(j), found)
		}
	}
	for i := range c.seqs {
		if c.seqs[i].tries == 0 {
			continue
		}
		for q := int32(i); q != none; q = c.seqs[q].parent {
			if m := c.seqs[q].member; m != none {
				found(m)
			}
		}
	}
	slices.SortFunc(started, func(a, b int32) int { return cmp.Compare(c.members[a].first, c.members[b].first) })
	for _, m := range started {
		if g := &c.groups[c.members[m].group]; g.used < g.limit {
			c.enter(m)
		}
	}
}
