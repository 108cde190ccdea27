package audit

import (
	"slices"
	"time"
)

// check looks at all instances that have new lines: no two calls may run at once, and
// a later call has a greater sequence.
func (t *trace) check(now int64) {
	t.mu.Lock()
	var wrong []func()
	for k := range t.fresh {
		calls := t.of[k]
		slices.SortFunc(calls, func(a, b *call) int { return int(min(max(a.from-b.from, -1), 1)) })
		open := false
		for i, c := range calls {
			open = open || t.end(c, now) == now
			for _, d := range calls[:i] {
				if d.process != c.process {
					t.shared[k] = true
				}
				if what := t.pair(d, c, now); what != "" {
					wrong = append(wrong, func() { t.violation(what, "%s%s", k, t.story(k)) })
				}
			}
		}
		if !open {
			delete(t.fresh, k)
		}
	}
	t.mu.Unlock()
	for _, f := range wrong {
		f()
	}
}

// pair says what is wrong with two calls of one instance, d being the one that began
// first.
func (t *trace) pair(d, c *call, now int64) string {
	for _, x := range t.active(d, now) {
		for _, y := range t.active(c, now) {
			both := interval{max(x.from, y.from), min(x.to, y.to)}
			if both.from < both.to && !t.thawed(d, both) && !t.thawed(c, both) {
				return "an instance ran twice at once"
			}
		}
	}
	if c.sequence <= d.sequence && !t.thawed(c, interval{c.from, c.from}) {
		return "a later call has an older sequence"
	}
	return ""
}

// end is when a call ended for sure: with its last line, or with its process.
func (t *trace) end(c *call, now int64) int64 {
	if c.to != 0 {
		return c.to
	}
	if end, ok := t.ended[c.process]; ok {
		return end
	}
	return now
}

// active is a call without the times that its process was frozen.
func (t *trace) active(c *call, now int64) []interval {
	rest := []interval{{c.from, t.end(c, now)}}
	for _, f := range t.frozen[c.process] {
		last := rest[len(rest)-1]
		if f.to <= last.from || f.from >= last.to {
			continue
		}
		rest[len(rest)-1].to = max(f.from, last.from)
		if f.to < last.to {
			rest = append(rest, interval{f.to, last.to})
		}
	}
	return rest
}

// thawed reports whether all of a time is what may be: right after the process of
// the call was frozen, until its own clock has told it that it is late.
func (t *trace) thawed(c *call, at interval) bool {
	for _, f := range t.frozen[c.process] {
		if at.from >= f.to && at.to-f.to <= t.bound {
			t.longest = max(t.longest, at.to-f.to)
			return true
		}
	}
	return false
}

// Traces says what the traces show: the calls of hooks, the instances that more than
// one process worked on, and for how long a member that had been frozen went on at
// most, beside the one that had taken over.
func (a *Audit) Traces() (calls, shared int, longest time.Duration) {
	a.looking.Lock()
	defer a.looking.Unlock()
	t := a.trace
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, of := range t.of {
		calls += len(of)
	}
	return calls, len(t.shared), time.Duration(t.longest)
}
