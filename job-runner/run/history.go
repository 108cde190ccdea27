package run

import "container/list"

// history remembers requests and their epochs, the last ones of a fixed number: those
// that ended here, that were refused, or that are to be stopped when they come. So
// a chain that is sent again because the first answer was lost does not start again.
// It is not safe for concurrent use.
type history struct {
	size  int
	byID  map[string]*list.Element
	order list.List // of remembered, the one that was added last at the back
}

// remembered is a request and the latest epoch that it was added under.
type remembered struct {
	id    string
	epoch uint64
}

func newHistory(size int) *history {
	return &history{size: size, byID: map[string]*list.Element{}}
}

// add remembers a request under this epoch and all before it. One that comes late, under
// an earlier epoch, hides nothing.
func (h *history) add(id string, epoch uint64) {
	if e, ok := h.byID[id]; ok {
		r := e.Value.(*remembered)
		r.epoch = max(r.epoch, epoch)
		h.order.MoveToBack(e)
		return
	}
	if len(h.byID) >= h.size {
		oldest := h.order.Front()
		delete(h.byID, oldest.Value.(*remembered).id)
		h.order.Remove(oldest)
	}
	h.byID[id] = h.order.PushBack(&remembered{id, epoch})
}

// has reports whether the request was added under this epoch or a later one.
func (h *history) has(id string, epoch uint64) bool {
	e, ok := h.byID[id]
	return ok && e.Value.(*remembered).epoch >= epoch
}
