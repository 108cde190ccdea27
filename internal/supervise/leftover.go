package supervise

import (
	"fmt"
	"syscall"
	"time"
)

const (
	// leftoverGrace is how long processes that a command left behind have between
	// SIGTERM and SIGKILL.
	leftoverGrace = time.Second
	// letGoWait and leaveWait are how long a process that the command started just
	// before it ended may take to be let go: to close the file of the lock, and then to
	// leave the session. A script that lets a server go may end before the server has
	// come to do either.
	letGoWait = 200 * time.Millisecond
	leaveWait = 500 * time.Millisecond
	// maxLeftovers bounds how many processes an Outcome names.
	maxLeftovers = 20
)

// member is a process of a command that is not the command itself.
type member struct {
	pid   int
	name  string
	start string // when it started
	holds bool   // it has the file of the lock
}

func (m member) String() string { return fmt.Sprintf("%s (process %d)", m.name, m.pid) }

// anyLeft reports whether there may be processes of a command that has ended.
func (c *child) anyLeft() bool { return groupLives(c.pgid) || len(c.living()) > 0 }

// settle waits for what the command is just letting go, and returns what is left of
// it then.
func (c *child) settle() []member {
	begin := time.Now()
	tick := time.NewTicker(pollGroup)
	defer tick.Stop()
	for {
		left := c.living()
		holders := false
		for _, m := range left {
			holders = holders || m.holds
		}
		waited := time.Since(begin)
		// One that is just being adopted shows only in its group.
		if len(left) == 0 && !groupLives(c.pgid) || holders && waited >= letGoWait || waited >= leaveWait {
			return left
		}
		<-tick.C
	}
}

// endLeftovers ends what a command has left behind that ended by itself, and names
// what there was.
func (c *child) endLeftovers() []string {
	left := c.settle()
	var names []string
	for _, m := range left {
		if len(names) < maxLeftovers {
			names = append(names, m.String())
		}
	}
	if len(left) == 0 && !groupLives(c.pgid) {
		return nil
	}
	c.end(leftoverGrace, false)
	c.terminate()
	exited := make(chan struct{})
	close(exited)
	c.finish(exited)
	return names
}

// hold returns what lives of the command, and lets nothing of it go from then on.
func (c *child) hold() []member {
	left := c.living()
	for _, m := range left {
		c.known[m.pid] = m.start
	}
	return left
}

// terminate asks all processes of the command to end.
func (c *child) terminate() {
	left := c.hold() // before those die that show who belongs to them
	terminate(c.pgid)
	for _, m := range left {
		_ = syscall.Kill(m.pid, syscall.SIGTERM)
		_ = syscall.Kill(m.pid, syscall.SIGCONT)
	}
}

// kill ends all processes of the command that did not end when they were asked to,
// and waits until they have.
func (c *child) kill() {
	c.hold()
	killGroup(c.pgid)
	deadline := time.NewTimer(killWait)
	defer deadline.Stop()
	tick := time.NewTicker(pollGroup)
	defer tick.Stop()
	for {
		left := c.hold()
		if len(left) == 0 {
			return
		}
		for _, m := range left {
			_ = syscall.Kill(m.pid, syscall.SIGKILL)
		}
		select {
		case <-tick.C:
		case <-deadline.C:
			return
		}
	}
}
