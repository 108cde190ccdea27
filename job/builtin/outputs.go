package builtin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/treadle-run/treadle/internal/exactjson"
	"github.com/treadle-run/treadle/job"
)

const (
	maxOutputsFile = 1 << 20 // bytes in the file of TREADLE_OUTPUT
	maxOutputName  = 100     // bytes in the name of one output, as for args

	byteOrderMark = "\ufeff"
)

// readOutputs returns what a command wrote to its file of outputs. A file that it
// removed has none.
func (f tryFile) readOutputs() (job.Values, error) {
	// A pipe or device in its place could block or never end, and a link could lead to
	// what the user of the command cannot read, but this process can.
	there, err := os.OpenFile(f.Name(), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENXIO):
		return nil, errNotPlain
	case err != nil:
		return nil, err
	}
	defer there.Close() //nolint:errcheck // it was only read
	info, err := there.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || !f.sameOwner(info) {
		return nil, errNotPlain
	}
	if info.Size() > maxOutputsFile {
		return nil, fmt.Errorf("TREADLE_OUTPUT: has %d bytes, at most %d are allowed", info.Size(), maxOutputsFile)
	}
	b, err := io.ReadAll(io.LimitReader(there, maxOutputsFile))
	if err != nil {
		return nil, err
	}
	if v, err := parseOutputs(b); err != nil {
		return nil, fmt.Errorf("TREADLE_OUTPUT: %w", err)
	} else if len(v) > 0 {
		return v, nil
	}
	return nil, nil
}

var errNotPlain = errors.New("TREADLE_OUTPUT: is no longer a plain file of the user of the command")

// sameOwner reports whether a file belongs to whom the first one was given to.
func (f tryFile) sameOwner(info fs.FileInfo) bool {
	first, err := f.Stat()
	if err != nil {
		return false
	}
	was, ok := first.Sys().(*syscall.Stat_t)
	is, ok2 := info.Sys().(*syscall.Stat_t)
	return ok && ok2 && was.Uid == is.Uid
}

// parseOutputs reads one JSON object, or lines of key=value whose values are
// strings. Of several values for one key the last one counts. Errors name the
// line and never show it: it may be one line of a secret that has several, or a
// secret in quotes, and then nobody masks it. Editors and programs of other systems
// may have put a byte order mark before a line and a carriage return behind it.
func parseOutputs(b []byte) (job.Values, error) {
	if bytes.HasPrefix(b, []byte("\xff\xfe")) || bytes.HasPrefix(b, []byte("\xfe\xff")) {
		return nil, errors.New("is UTF-16; expected UTF-8")
	}
	b = bytes.TrimPrefix(b, []byte(byteOrderMark))
	if !utf8.Valid(b) {
		return nil, fmt.Errorf("line %d: not UTF-8", 1+bytes.Count(b[:invalidAt(b)], []byte("\n")))
	}
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		return parseObject(b)
	}
	v := job.Values{}
	n := 0
	for line := range strings.Lines(string(b)) {
		n++
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		line = strings.TrimPrefix(line, byteOrderMark) // of another file that was appended
		if strings.TrimSpace(line) == "" {
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok {
			return nil, fmt.Errorf("line %d: expected key=value", n)
		}
		if err := checkOutputName(key); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		v[key] = value
	}
	return v, nil
}

func parseObject(b []byte) (job.Values, error) {
	var v job.Values
	if err := v.UnmarshalJSON(b); err != nil {
		at := len(b)
		if syntaxErr, ok := errors.AsType[*json.SyntaxError](err); ok {
			at = min(at, max(int(syntaxErr.Offset)-1, 0)) // it counts the bad byte
		}
		line := 1 + bytes.Count(bytes.TrimRight(b[:at], "\n"), []byte("\n"))
		return nil, fmt.Errorf("line %d: not one JSON object: %w", line, err)
	}
	for key := range v {
		if err := checkOutputName(key); err != nil {
			return nil, err
		}
	}
	if inexact, ok := errors.AsType[*exactjson.Error](exactjson.Check(b)); ok {
		return nil, errors.New(inexact.Blind())
	}
	return v, nil
}

func checkOutputName(key string) error {
	if key == "" || len(key) > maxOutputName || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
		return fmt.Errorf("a name must have 1 to %d bytes and no spaces or control characters", maxOutputName)
	}
	return nil
}

// invalidAt returns where the first byte that is not UTF-8 stands.
func invalidAt(b []byte) int {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
	return len(b)
}
