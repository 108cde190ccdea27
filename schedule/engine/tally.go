package engine

import (
	"sync"
)

// maxTally is how many instances a tally remembers.
const maxTally = 10_000

// tally counts failures of instances, for the waits between tries.
type tally struct {
	mu sync.Mutex
	n  map[instanceKey]int
}

func newTally() *tally { return &tally{n: map[instanceKey]int{}} }

// add counts one more, and returns how many there are.
func (t *tally) add(k instanceKey) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.n) >= maxTally && t.n[k] == 0 {
		clear(t.n) // the waits of all start over
	}
	t.n[k]++
	return t.n[k]
}

func (t *tally) forget(k instanceKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.n, k)
}
