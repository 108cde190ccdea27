package mask

import (
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// decoded is a text in which secrets are looked for: a part of the text that is
// masked, after one decoding.
type decoded struct {
	text []byte
	from []span // of each byte of text: what it was decoded from; nil: it is as it was
}

// span is a part of a text, its end not included.
type span struct{ start, end int }

// reset empties it, with room for what a text of n bytes becomes.
func (d *decoded) reset(n int) {
	d.text, d.from = slices.Grow(d.text[:0], n), slices.Grow(d.from[:0], n)
}

// at returns what a byte was decoded from.
func (d *decoded) at(i int) span {
	if d.from == nil {
		return span{i, i + 1}
	}
	return d.from[i]
}

func (d *decoded) add(start, end int, b ...byte) {
	for _, b := range b {
		d.text = append(d.text, b)
		d.from = append(d.from, span{start, end})
	}
}

// simpleEscapes are those of JSON, Go, Python, C and the shell. A backslash before
// any other byte stands for that byte.
var simpleEscapes = map[byte]byte{'a': '\a', 'b': '\b', 'e': 0x1b, 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

// escapeDigits are the numbers of hex digits after \x, \u and \U.
var escapeDigits = map[byte]int{'x': 2, 'u': 4, 'U': 8}

// unescape decodes backslashes.
func (d *decoded) unescape(s []byte) {
	for i := 0; i < len(s); {
		if s[i] != '\\' || i+1 == len(s) {
			d.add(i, i+1, s[i])
			i++
			continue
		}
		start, c := i, s[i+1]
		if r, n := escapedRune(s[i:]); n > 0 {
			i += n
			if low, n := escapedRune(s[i:]); n > 0 && utf16.IsSurrogate(r) && utf16.DecodeRune(r, low) != utf8.RuneError {
				r = utf16.DecodeRune(r, low)
				i += n
			}
			if c == 'x' {
				d.add(start, i, byte(r))
			} else {
				d.add(start, i, utf8.AppendRune(nil, r)...)
			}
			continue
		}
		if simple, ok := simpleEscapes[c]; ok {
			c = simple
		}
		i += 2
		d.add(start, i, c)
	}
}

// escapedRune returns the rune that s starts with if that is \x, \u or \U, and its
// length in s; else 0.
func escapedRune(s []byte) (rune, int) {
	if len(s) < 2 || s[0] != '\\' {
		return 0, 0
	}
	n := escapeDigits[s[1]]
	if n == 0 || len(s) < 2+n {
		return 0, 0
	}
	x, err := strconv.ParseUint(string(s[2:2+n]), 16, 32)
	if err != nil || x > utf8.MaxRune {
		return 0, 0
	}
	return rune(x), 2 + n
}

// unpercent decodes %2F, and + as a space if it is a form.
func (d *decoded) unpercent(s []byte, form bool) {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '%' && i+2 < len(s) && hexDigit[s[i+1]] >= 0 && hexDigit[s[i+2]] >= 0:
			d.add(i, i+3, byte(hexDigit[s[i+1]]<<4|hexDigit[s[i+2]]))
			i += 2
		case s[i] == '+' && form:
			d.add(i, i+1, ' ')
		default:
			d.add(i, i+1, s[i])
		}
	}
}

// hexDigit and base64Digit are the values of the digits, -1 for other bytes.
var hexDigit, base64Digit = digits("0123456789abcdef", "0123456789ABCDEF"), digits(
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")

func digits(alphabets ...string) (values [256]int16) {
	for i := range values {
		values[i] = -1
	}
	for _, a := range alphabets {
		for i := range len(a) {
			values[a[i]] = int16(i)
		}
	}
	return values
}

// digitRun is a run of digits in a text; the ends of lines in it do not count.
type digitRun struct {
	value []byte
	from  []span // of each digit; that of the last one has the padding after it
}

// next fills r with the first run of digits from i on, and returns where it ends;
// it is empty at the end of the text.
func (r *digitRun) next(s []byte, i int, digit *[256]int16) int {
	r.value, r.from = r.value[:0], r.from[:0]
	for ; i < len(s); i++ {
		switch v := digit[s[i]]; {
		case v >= 0:
			r.value, r.from = append(r.value, byte(v)), append(r.from, span{i, i + 1})
		case s[i] == '\n' || s[i] == '\r':
		case len(r.value) > 0:
			last := &r.from[len(r.from)-1]
			for limit := last.end + maxPadding; i < min(limit, len(s)) && s[i] == '='; i++ {
				last.end = i + 1
			}
			return i
		}
	}
	return i
}

// maxPadding is how many bytes of padding end what is encoded in base64.
const maxPadding = 2

// unhex decodes the digits of a run from the first or the second on.
func (d *decoded) unhex(r *digitRun, first int) {
	for i := first; i+1 < len(r.value); i += 2 {
		d.add(r.from[i].start, r.from[i+1].end, r.value[i]<<4|r.value[i+1])
	}
}

// unbase64 decodes the digits of a run from one of the first four on: it is not
// known where in the run a text starts. Each byte comes of two digits.
func (d *decoded) unbase64(r *digitRun, first int) {
	for i := first; i+1 < len(r.value); i++ {
		a, b := r.value[i], r.value[i+1]
		start, end := r.from[i].start, r.from[i+1].end
		switch (i - first) % 4 {
		case 0:
			d.add(start, end, a<<2|b>>4)
		case 1:
			d.add(start, end, a<<4|b>>2)
		case 2:
			d.add(start, end, a<<6|b)
		}
	}
}
