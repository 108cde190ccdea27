package run

import (
	"container/heap"
	"time"

	"github.com/treadle-run/treadle/job"
)

// sleepers are the tries of a chain that only wait (job.Sleeper), the first to
// wake on top. Only the loop touches them.
type sleepers []*try

func (s sleepers) Len() int           { return len(s) }
func (s sleepers) Less(i, j int) bool { return s[i].wakeAt.Before(s[j].wakeAt) }
func (s sleepers) Swap(i, j int)      { s[i], s[j] = s[j], s[i] }

// Push and Pop are for package heap.
func (s *sleepers) Push(x any) { *s = append(*s, x.(*try)) }
func (s *sleepers) Pop() any {
	old := *s
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*s = old[:len(old)-1]
	return t
}

// sleep keeps a try that waits for d, or until its deadline if that is earlier.
func (c *chainRun) sleep(t *try, d time.Duration) {
	t.wakeAt = t.startedAt.Add(d)
	if at := t.start.Deadline; !at.IsZero() && at.Before(t.wakeAt) {
		t.wakeAt, t.expires = at, true
	}
	heap.Push(&c.asleep, t)
}

// setAlarm sets the timer of the loop to the first of the sleepers.
func (c *chainRun) setAlarm() {
	if len(c.asleep) > 0 {
		c.alarm.Reset(time.Until(c.asleep[0].wakeAt))
	}
}

// wakeSleepers ends the tries whose wait is over.
func (c *chainRun) wakeSleepers() {
	now := time.Now()
	for len(c.asleep) > 0 && !c.asleep[0].wakeAt.After(now) {
		t := heap.Pop(&c.asleep).(*try)
		var err error
		if t.expires {
			err = errJobTimeout
		}
		c.tryEnded(c.result(t, job.Result{}, err, t.expires, false))
	}
	c.setAlarm()
}

// stopSleepers ends all tries that wait, as stopped.
func (c *chainRun) stopSleepers(cause error) {
	stopped := c.asleep
	c.asleep = nil
	for _, t := range stopped {
		c.tryEnded(c.result(t, job.Result{}, cause, false, true))
	}
}
