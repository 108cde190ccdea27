package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// trace is what the hooks themselves wrote of their calls, one file for each process
// of a member, every line in one write to the end:
//
//	B NANOSECONDS CALL APP NUMBER SEQUENCE run|undo
//	E NANOSECONDS CALL TEXT
//	V NANOSECONDS CALL TEXT
//
// B is the beginning of a call and E its end; CALL counts the calls of the process. V
// says that what the call was given is wrong.
type trace struct {
	dir       string
	bound     int64
	violation func(rule, format string, args ...any)

	files map[string]int64 // how far each was read
	calls map[callID]*call
	of    map[key][]*call
	fresh map[key]bool // since the last check

	mu      sync.Mutex // what the test says while lines are read
	frozen  map[string][]interval
	ended   map[string]int64
	longest int64 // that one went on after it was frozen
	shared  map[key]bool
}

type callID struct {
	process string
	number  uint64
}

// call is one call of a hook. An end of 0 is not known.
type call struct {
	callID
	instance key
	sequence uint64
	what     string
	from, to int64
	text     string
}

func (c *call) String() string {
	end := "never ended"
	if c.to != 0 {
		end = clock(c.to) + " " + c.text
	}
	return fmt.Sprintf("%s of %s, sequence %d, %s to %s", c.what, c.process, c.sequence, clock(c.from), end)
}

// interval is from one moment to another.
type interval struct{ from, to int64 }

func newTrace(dir string, bound time.Duration, violation func(rule, format string, args ...any)) *trace {
	return &trace{
		dir: dir, bound: bound.Nanoseconds(), violation: violation,
		files: map[string]int64{}, calls: map[callID]*call{}, of: map[key][]*call{}, fresh: map[key]bool{},
		frozen: map[string][]interval{}, ended: map[string]int64{}, shared: map[key]bool{},
	}
}

// Freeze says that a process does nothing from now on; thaw, called just before it is
// let go on, says that this is over.
func (a *Audit) Freeze(process string) (thaw func()) {
	t := a.trace
	t.mu.Lock()
	defer t.mu.Unlock()
	i := len(t.frozen[process])
	t.frozen[process] = append(t.frozen[process], interval{time.Now().UnixNano(), math.MaxInt64})
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.frozen[process][i].to = time.Now().UnixNano()
	}
}

// Ended says that a process does nothing any more, for ever.
func (a *Audit) Ended(process string) {
	a.trace.mu.Lock()
	defer a.trace.mu.Unlock()
	a.trace.ended[process] = time.Now().UnixNano()
}

// read reads what was written since the last time. The files have the names of the
// processes.
func (t *trace) read() error {
	entries, err := os.ReadDir(t.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := t.readFile(e.Name()); err != nil {
			return err
		}
	}
	return nil
}

func (t *trace) readFile(process string) error {
	f, err := os.Open(filepath.Join(t.dir, process))
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // read only
	if _, err := f.Seek(t.files[process], io.SeekStart); err != nil {
		return err
	}
	in := bufio.NewReader(f)
	for {
		line, err := in.ReadString('\n')
		if errors.Is(err, io.EOF) {
			return nil // half a line is read again
		}
		if err != nil {
			return err
		}
		t.files[process] += int64(len(line))
		if err := t.line(process, strings.TrimSuffix(line, "\n")); err != nil {
			return fmt.Errorf("trace of %s: %w in %q", process, err, line)
		}
	}
}

func (t *trace) line(process, text string) error {
	f := strings.SplitN(text, " ", 4)
	if len(f) != 4 {
		return errors.New("too few fields")
	}
	at, err := strconv.ParseInt(f[1], 10, 64)
	if err != nil {
		return err
	}
	n, err := strconv.ParseUint(f[2], 10, 64)
	if err != nil {
		return err
	}
	id := callID{process, n}
	c := t.calls[id]
	switch {
	case f[0] == "B" && c == nil:
		return t.begin(id, at, f[3])
	case f[0] == "E" && c != nil:
		c.to, c.text = at, f[3]
		t.fresh[c.instance] = true
		delete(t.calls, id)
		return nil
	case f[0] == "V" && c != nil:
		t.violation("what a hook was given", "%s: %s: %s", c.instance, c, f[3])
		return nil
	}
	return errors.New("a line that does not follow")
}

func (t *trace) begin(id callID, at int64, rest string) error {
	f := strings.Split(rest, " ")
	if len(f) != 4 {
		return errors.New("too few fields")
	}
	c := &call{callID: id, instance: key{app: f[0]}, what: f[3], from: at}
	var err, err2 error
	c.instance.number, err = strconv.ParseUint(f[1], 10, 64)
	c.sequence, err2 = strconv.ParseUint(f[2], 10, 64)
	t.calls[id] = c
	t.of[c.instance] = append(t.of[c.instance], c)
	t.fresh[c.instance] = true
	return errors.Join(err, err2)
}

// story is what is known of the calls of an instance, for a reader.
func (t *trace) story(k key) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	calls := slices.Clone(t.of[k])
	slices.SortFunc(calls, func(a, b *call) int { return int(min(max(a.from-b.from, -1), 1)) })
	var b strings.Builder
	for _, c := range calls {
		fmt.Fprintf(&b, "\n    %s", c)
		for _, f := range t.frozen[c.process] {
			if f.to > c.from && (c.to == 0 || f.from < c.to) {
				fmt.Fprintf(&b, "; frozen %s to %s", clock(f.from), clock(f.to))
			}
		}
		if end, ok := t.ended[c.process]; ok {
			fmt.Fprintf(&b, "; its process ended %s", clock(end))
		}
	}
	return b.String()
}

// clock writes Unix nanoseconds for a reader.
func clock(ns int64) string {
	if ns == math.MaxInt64 {
		return "now"
	}
	return time.Unix(0, ns).UTC().Format("15:04:05.000000")
}
