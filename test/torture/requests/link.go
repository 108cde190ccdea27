package requests

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/treadle-run/treadle/test/torture"
)

// link is one way between two processes: who connects, and where to. It can be
// cut, turned into a black hole, and slowed.
type link struct {
	name string

	mu      sync.Mutex
	fault   torture.Kind // "" if all is well
	delay   time.Duration
	changed chan struct{} // closed and replaced when the fault changes
	conns   map[net.Conn]bool
}

func newLink(from, to string) *link {
	return &link{name: linkName(from, to), changed: make(chan struct{}), conns: map[net.Conn]bool{}}
}

// set starts a fault; "" heals.
func (l *link) set(k torture.Kind, delay time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fault, l.delay = k, delay
	close(l.changed)
	l.changed = make(chan struct{})
	if k == cut {
		for c := range l.conns {
			reset(c)
		}
	}
}

func (l *link) state() (torture.Kind, time.Duration, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.fault, l.delay, l.changed
}

// add takes a connection in; false if the link is cut.
func (l *link) add(c net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault == cut {
		return false
	}
	l.conns[c] = true
	return true
}

func (l *link) remove(c net.Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, c)
}

// pass waits as long as the link takes; false if it is cut or ctx ended.
func (l *link) pass(ctx context.Context) bool {
	for {
		fault, delay, changed := l.state()
		var wait <-chan time.Time
		switch fault {
		case cut:
			return false
		case hole:
		case slow:
			timer := time.NewTimer(delay)
			defer timer.Stop()
			wait = timer.C
		default:
			return true
		}
		select {
		case <-wait:
			return true
		case <-changed: // what a black hole swallowed is sent again by the network
		case <-ctx.Done():
			return false
		}
	}
}

// reset breaks a connection as a dead machine does.
func reset(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // it is about to be closed in any case
	}
	_ = c.Close()
}
