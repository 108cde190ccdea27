package mask

import (
	"bytes"
	"cmp"
	"slices"
)

// edge says at which ends of a text a part of a secret may stand.
type edge uint8

const (
	edgeStart edge = 1 << iota // the end of a secret
	edgeEnd                    // the start of a secret
)

// maxEdgeOffset is how many digits at an edge may belong to no whole byte.
const maxEdgeOffset = 3

// minDigits are the digits of minEncoded bytes, in base64.
const minDigits = (minEncoded*8 + 5) / 6

// finder looks for secrets in one text.
type finder struct {
	a     *automaton
	s     []byte
	edges edge
	found []span
}

// spans returns where secrets stand in s, in order, none overlapping another.
func (m Masker) spans(s []byte, edges edge) []span {
	f := finder{a: m.find, s: s, edges: edges}
	f.scan(&decoded{text: s}, 1)
	var d decoded
	if bytes.IndexByte(s, '\\') >= 0 {
		d.reset(len(s))
		d.unescape(s)
		f.scan(&d, 1)
	}
	for _, form := range []bool{false, true} {
		if bytes.IndexByte(s, '%') >= 0 || form && bytes.IndexByte(s, '+') >= 0 {
			d.reset(len(s))
			d.unpercent(s, form)
			f.scan(&d, 1)
		}
	}
	f.digits(&d, &hexDigit, 2, d.unhex)
	f.digits(&d, &base64Digit, 4, d.unbase64)
	return merged(f.found)
}

// digits looks into the runs of digits, decoded from each of the first offsets on.
func (f *finder) digits(d *decoded, digit *[256]int16, offsets int, decode func(*digitRun, int)) {
	var r digitRun
	for end := r.next(f.s, 0, digit); len(r.value) > 0; end = r.next(f.s, end, digit) {
		if len(r.value) < minDigits {
			continue
		}
		for first := range offsets {
			d.reset(len(r.value))
			decode(&r, first)
			f.scan(d, minEncoded)
		}
	}
}

// scan looks for secrets of at least that many bytes in a decoded text.
func (f *finder) scan(d *decoded, least int32) {
	if len(d.text) == 0 {
		return
	}
	node := int32(0)
	for i, b := range d.text {
		if node = f.a.next(node, b); f.a.found[node] >= least {
			f.add(span{d.at(i + 1 - int(f.a.found[node])).start, d.at(i).end})
		}
	}
	if f.edges&edgeEnd != 0 && d.at(len(d.text)-1).end >= len(f.s)-1 {
		if n := f.a.length(node); n >= minEdge {
			f.add(span{d.at(len(d.text) - n).start, len(f.s)})
		}
	}
	if f.edges&edgeStart != 0 && d.at(0).start <= maxEdgeOffset {
		if n := f.a.endAt(d.text); n >= minEdge {
			f.add(span{0, d.at(n - 1).end})
		}
	}
}

// add notes a place; those that it overlaps and were found just before join it.
func (f *finder) add(s span) {
	for n := len(f.found) - 1; n >= 0 && f.found[n].end > s.start && f.found[n].start < s.end; n-- {
		s = span{min(s.start, f.found[n].start), max(s.end, f.found[n].end)}
		f.found = f.found[:n]
	}
	f.found = append(f.found, s)
}

// merged sorts spans and joins those that overlap.
func merged(found []span) []span {
	slices.SortFunc(found, func(a, b span) int { return cmp.Compare(a.start, b.start) })
	out := found[:0]
	for _, s := range found {
		if n := len(out); n > 0 && s.start < out[n-1].end {
			out[n-1].end = max(out[n-1].end, s.end)
			continue
		}
		out = append(out, s)
	}
	return out
}
