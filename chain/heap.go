package chain

// heap is a queue of jobs or members, least key first, ties by index. It is
// container/heap without an allocation for each item.
type heap []heapItem

type heapItem struct {
	key int64
	i   int32
}

func (a heapItem) less(b heapItem) bool {
	return a.key < b.key || a.key == b.key && a.i < b.i
}

func (h *heap) push(key int64, i int32) {
	q := append(*h, heapItem{key, i})
	n := len(q) - 1
	for n > 0 {
		up := (n - 1) / 2
		if !q[n].less(q[up]) {
			break
		}
		q[n], q[up] = q[up], q[n]
		n = up
	}
	*h = q
}

// pop removes the least item and returns it. The heap must not be empty.
func (h *heap) pop() heapItem {
	q := *h
	top := q[0]
	last := len(q) - 1
	q[0] = q[last]
	q = q[:last]
	n := 0
	for {
		least := 2*n + 1
		if least >= last {
			break
		}
		if right := least + 1; right < last && q[right].less(q[least]) {
			least = right
		}
		if !q[least].less(q[n]) {
			break
		}
		q[n], q[least] = q[least], q[n]
		n = least
	}
	*h = q
	return top
}
