package request

import (
	"strings"
	"testing"
)

// taken empties the queue, but for the lanes of closed hosts, and returns the ids in
// their order.
func taken(q *dispatchQueue, closed ...string) string {
	without := map[string]bool{}
	for _, host := range closed {
		without[host] = true
	}
	var ids []string
	for {
		r, ok := q.take(without)
		if !ok {
			return strings.Join(ids, " ")
		}
		ids = append(ids, r.id)
	}
}

// A request is added again while it is out of the queue because no runner has room.
func TestTheQueueHasEachRequestOnce(t *testing.T) {
	t.Parallel()
	q := newDispatchQueue()
	for _, id := range []string{"r1", "r2", "r1"} {
		q.add(pendingRequest{id: id, body: []byte("12345")})
	}
	r1, _ := q.take(nil)
	r2, _ := q.take(nil)
	q.add(pendingRequest{id: "r2"})
	q.add(pendingRequest{id: "r3"})
	q.putBack(r2)
	q.putBack(r1)
	if got := taken(q); got != "r1 r2 r3" || q.bytes != 0 || q.len() != 0 {
		t.Errorf("the queue had %s; %d bytes are left", got, q.bytes)
	}
}

func TestWhatWaitsForAHostDoesNotHoldUpTheQueue(t *testing.T) {
	t.Parallel()
	q := newDispatchQueue()
	for _, r := range []pendingRequest{{id: "a1", host: "a"}, {id: "any1"}, {id: "b1", host: "b"}, {id: "a2", host: "a"}, {id: "any2"}} {
		q.add(r)
	}
	if got := taken(q, "a"); got != "any1 b1 any2" {
		t.Errorf("without host a: %s", got)
	}
	q.add(pendingRequest{id: "any3"})
	if got := taken(q); got != "a1 a2 any3" || q.len() != 0 {
		t.Errorf("then: %s; %d are left", got, q.len())
	}
}

func TestAHostHasItsShareOfTheQueue(t *testing.T) {
	t.Parallel()
	q := newDispatchQueue()
	for i := range 2 * maxQueued {
		q.add(pendingRequest{id: "a" + string(rune(i)), host: "a", body: []byte("1")})
	}
	q.add(pendingRequest{id: "any"})
	q.add(pendingRequest{id: "b1", host: "b"})
	if q.len() != maxQueuedOfHost+2 {
		t.Errorf("the queue has %d requests, want %d of host a and 2 others", q.len(), maxQueuedOfHost)
	}
	q.keep(func(host string) bool { return host == "b" })
	if got := taken(q); got != "any b1" || q.bytes != 0 {
		t.Errorf("without host a there are %s and %d bytes", got, q.bytes)
	}
}
