package run

// history remembers requests and their epochs, the last ones of a fixed number: those
// that ended here, that were refused, or that are to be stopped when they come. So
// a chain that is sent again because the first answer was lost does not start again.
// It is not safe for concurrent use.
type history struct {
	epochs map[string]uint64
	ids    []string
	next   int
}

func newHistory(size int) *history {
	return &history{epochs: map[string]uint64{}, ids: make([]string, size)}
}

func (h *history) add(id string, epoch uint64) {
	if _, ok := h.epochs[id]; !ok {
		delete(h.epochs, h.ids[h.next])
		h.ids[h.next] = id
		h.next = (h.next + 1) % len(h.ids)
	}
	h.epochs[id] = epoch
}

// has reports whether the request was added under this epoch or a later one.
func (h *history) has(id string, epoch uint64) bool {
	last, ok := h.epochs[id]
	return ok && last >= epoch
}
