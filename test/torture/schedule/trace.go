package schedule

import (
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/engine"
)

// traceFile is where the calls of a process are written down, for package audit. Every
// line is one write, so that it is there also if the process is killed.
type traceFile struct {
	file  *os.File
	calls atomic.Uint64
}

func openTrace(path string) (*traceFile, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_WRONLY, 0o644)
	return &traceFile{file: f}, err
}

func (t *traceFile) line(what string, call uint64, text string) error {
	text = strings.ReplaceAll(text, "\n", " ")
	_, err := fmt.Fprintf(t.file, "%s %d %d %s\n", what, time.Now().UnixNano(), call, text)
	return err
}

// hookCall is a call of a hook.
type hookCall struct {
	t      *traceFile
	number uint64
}

func (t *traceFile) begin(in proto.Instance, what string) (*hookCall, error) {
	c := &hookCall{t, t.calls.Add(1)}
	return c, t.line("B", c.number, fmt.Sprintf("%s %d %d %s", in.App, in.Number, in.Sequence, what))
}

func (c *hookCall) wrong(text string) error { return c.t.line("V", c.number, text) }

func (c *hookCall) end(out engine.Outcome, err error) error {
	text := "waits"
	switch {
	case err != nil:
		text = "error: " + err.Error()
	case out.Done && out.OK:
		text = "well"
	case out.Done:
		text = "failed"
	}
	return c.t.line("E", c.number, text)
}
