package verb

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"
	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/proto"
)

// NoArgs is the check of a verb that takes no arguments.
var NoArgs = Takes(0, 0, "")

// Takes returns a check for the number of arguments of a verb; names is what an error
// calls them. A limit below 0 is no limit.
func Takes(least, limit int, names string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least {
			return Usagef("missing argument: %s", names)
		}
		if limit >= 0 && len(args) > limit {
			if names == "" {
				names = "none"
			}
			return Usagef("too many arguments, expected %s", names)
		}
		return nil
	}
}

// Nearest returns the one of names that was probably meant by name, "" for none.
func Nearest(name string, names []string) string {
	best, distance := "", min(4, (len(name)+2)/2)
	for _, n := range names {
		if d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(n)); d < distance {
			best, distance = n, d
		}
	}
	return best
}

// Time reads the value of a flag: a point in time, or an age, which counts back from
// now. "" is the zero time.
func Time(now time.Time, flag, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.RFC3339Nano, s); err == nil {
		return t.UTC(), nil
	}
	for _, layout := range []string{"2006-01-02T15:04:05", term.TimeLayout, time.DateOnly} {
		if t, err := time.ParseInLocation(layout, s, time.Local); err == nil {
			return t.UTC(), nil
		}
	}
	if d, err := proto.ParseAge(s); err == nil {
		return now.Add(-d).UTC(), nil
	}
	return time.Time{}, Usagef("%s: %q is neither a time such as 2026-03-01T12:00:00Z nor an age such as 2h or 7d", flag, s)
}

// ReadInput reads a file of at most limit bytes, or stdin for "-".
func ReadInput(stdin io.Reader, path string, limit int64) ([]byte, error) {
	in := stdin
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer file.Close() //nolint:errcheck // it was only read
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, limit+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if int64(len(text)) > limit {
		return nil, fmt.Errorf("%s: larger than %d MiB", path, limit>>20)
	}
	return text, nil
}
