// Package exactjson refuses JSON that would silently be read as something else: an
// object with the same key twice, of which one is lost, and a whole number beyond
// 64 bits, which is rounded.
//
// It imports the standard library alone.
package exactjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Error is what would be read as something else.
type Error struct {
	place string // "hosts[2].port"; "" for the whole
	key   bool   // a key is given twice, or else a number is too large
	shown string // the start of it
}

// Error returns the place, what is there, and what is wrong with it.
func (e *Error) Error() string {
	if e.key {
		return fmt.Sprintf("%skey %q is given twice", prefix(e.place), e.shown)
	}
	return prefix(e.place) + e.shown + " is beyond 64 bits; only a string can hold it"
}

// Blind is Error for what may be secret: without the key or the number.
func (e *Error) Blind() string {
	if e.key {
		return prefix(e.place) + "a key is given twice"
	}
	return prefix(e.place) + "a whole number is beyond 64 bits; only a string can hold it"
}

// Check returns an *Error that says what would be read as something else, and where:
// "hosts[2].port: ...". JSON that does not parse is no error here: whoever decodes it
// finds that.
func Check(b []byte) error {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	var stack []frame
	for {
		token, err := dec.Token()
		if err != nil {
			return nil
		}
		if len(stack) > 0 {
			if f := &stack[len(stack)-1]; f.wantsKey(token) {
				if err := f.key(token.(string), place(stack[:len(stack)-1])); err != nil {
					return err
				}
				continue
			}
		}
		switch t := token.(type) {
		case json.Delim:
			if t == ']' || t == '}' {
				stack = stack[:len(stack)-1]
				break
			}
			stack = append(stack, frame{isObject: t == '{'})
			continue
		case json.Number:
			if !fits(string(t)) {
				return &Error{place: place(stack), shown: shown(string(t))}
			}
		}
		if len(stack) > 0 {
			stack[len(stack)-1].next()
		}
	}
}

// frame is an object or a list that is being read.
type frame struct {
	isObject bool
	hasKey   bool // of an object: its key has been read, the value comes
	name     string
	seen     map[string]bool
	index    int // of a list: the place of the value that comes
}

func (f *frame) wantsKey(token json.Token) bool {
	_, isText := token.(string)
	return f.isObject && !f.hasKey && isText
}

func (f *frame) key(name, where string) error {
	if f.seen[name] {
		return &Error{place: where, key: true, shown: shown(name)}
	}
	if f.seen == nil {
		f.seen = map[string]bool{}
	}
	f.seen[name] = true
	f.name, f.hasKey = name, true
	return nil
}

// next is called after a value.
func (f *frame) next() {
	f.hasKey = false
	f.index++
}

// place names the value that is being read: "hosts[2].port".
func place(stack []frame) string {
	var b strings.Builder
	for _, f := range stack {
		switch {
		case !f.isObject:
			fmt.Fprintf(&b, "[%d]", f.index)
		case b.Len() > 0:
			b.WriteString("." + shown(f.name))
		default:
			b.WriteString(shown(f.name))
		}
	}
	return b.String()
}

func prefix(place string) string {
	if place == "" {
		return ""
	}
	return place + ": "
}

// fits reports whether a number is read as it is written, or is one with a fraction or
// an exponent, which is rounded by its nature.
func fits(s string) bool {
	if strings.ContainsAny(s, ".eE") {
		return true
	}
	_, signed := strconv.ParseInt(s, 10, 64)
	_, unsigned := strconv.ParseUint(s, 10, 64)
	return signed == nil || unsigned == nil
}

// maxShown is how many bytes of a name or number an error repeats.
const maxShown = 40

func shown(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "..."
}
