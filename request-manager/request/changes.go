package request

import (
	"sync"

	"github.com/treadle-run/treadle/internal/wait"
)

// changes tells those who watch a request that it may have changed.
type changes struct {
	// onEnd is called with requests that may have ended.
	onEnd func(requestIDs ...string)

	mu      sync.Mutex
	watches map[string]map[chan struct{}]bool
}

func newChanges(onEnd func(requestIDs ...string)) *changes {
	return &changes{onEnd: onEnd, watches: map[string]map[chan struct{}]bool{}}
}

// watch returns a channel that has room for one wake-up, and a function that ends
// the watch.
func (c *changes) watch(id string) (<-chan struct{}, func()) {
	ch := make(chan struct{}, 1)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.watches[id] == nil {
		c.watches[id] = map[chan struct{}]bool{}
	}
	c.watches[id][ch] = true
	return ch, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watches[id], ch)
		if len(c.watches[id]) == 0 {
			delete(c.watches, id)
		}
	}
}

func (c *changes) notify(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for ch := range c.watches[id] {
		wait.Nudge(ch)
	}
}

// mayHaveEnded tells all who want to know that a request changed, and may have
// ended.
func (c *changes) mayHaveEnded(id string) {
	c.notify(id)
	c.onEnd(id)
}

// Changed returns a channel that says when the request may have changed through
// this manager, and a function that ends the watch. Changes through other managers
// are not seen: look now and then, too.
func (m *Manager) Changed(id string) (<-chan struct{}, func()) {
	return m.changes.watch(id)
}
