package engine

import (
	"sync"
	"time"
)

// clock knows the database's time without asking for it each time. It may be late by
// the way of an answer, never early, as long as the database's clock is not set.
type clock struct {
	tolerance time.Duration

	mu       sync.Mutex
	database time.Time
	at       time.Time // when that came, by our monotonic clock

	// Since the first of the answers that fit together: when it was asked for, when it
	// came, and the time that it gave. Zero if the last answer does not fit.
	asked, came, first time.Time
}

// set takes the database's time from an answer to a question that was sent at sent.
// What the answers may differ by from a steady clock is the tolerance and the time
// that they were on their way, which is at most the tolerance too.
func (c *clock) set(database, sent, received time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.database, c.at = database, received
	passed := database.Sub(c.first)
	switch {
	case received.Sub(sent) > c.tolerance:
		c.asked, c.came, c.first = time.Time{}, time.Time{}, time.Time{}
	case c.asked.IsZero(), passed > received.Sub(c.asked)+c.tolerance, passed < sent.Sub(c.came)-c.tolerance:
		c.asked, c.came, c.first = sent, received, database
	}
}

// steady reports whether the database's clock was not set for at least d. Unless it
// was steady for the age of a heartbeat, that age says nothing.
func (c *clock) steady(d time.Duration) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.asked.IsZero() && c.at.Sub(c.came) >= d
}

// now returns the database's time.
func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return time.Now().UTC()
	}
	return c.database.Add(time.Since(c.at))
}

// local returns when it is t by the database's clock, by ours.
func (c *clock) local(t time.Time) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.at.IsZero() {
		return t
	}
	return c.at.Add(t.Sub(c.database))
}
