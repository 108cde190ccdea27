package builtin

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// An arg that is missing, null or the empty string is not given: a spec that
// hands on an optional arg of its own has no other way to leave it out.
func given(args job.Values, name string) (any, bool) {
	x := args[name]
	return x, x != nil && x != ""
}

// stringArg returns the text of an arg, "" if it is not given.
func stringArg(args job.Values, name string) (string, error) {
	x, ok := given(args, name)
	if !ok {
		return "", nil
	}
	s, ok := x.(string)
	if !ok {
		return "", job.ArgErrorf(name, "expected a string, got %s", describe(x))
	}
	return s, nil
}

// durationArg returns the duration of an arg, and fallback if it is not given.
func durationArg(args job.Values, name string, fallback time.Duration) (time.Duration, error) {
	x, ok := given(args, name)
	if !ok {
		return fallback, nil
	}
	s, _ := x.(string)
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, job.ArgErrorf(name, `expected a duration such as "1.5s", got %s`, describe(x))
	}
	if d < 0 {
		return 0, job.ArgErrorf(name, "expected a duration that is not negative, got %s", describe(x))
	}
	return d, nil
}

// countArg returns the number of an arg, also one that is written as text, for
// that is what defaults in specs are.
func countArg(args job.Values, name string, fallback uint) (uint, error) {
	x, ok := given(args, name)
	if !ok {
		return fallback, nil
	}
	switch x := x.(type) {
	case int64:
		if x >= 0 && x <= math.MaxInt32 {
			return uint(x), nil
		}
	case string:
		if n, err := strconv.ParseUint(x, 10, 31); err == nil {
			return uint(n), nil
		}
	}
	return 0, job.ArgErrorf(name, "expected a whole number from 0 on, got %s", describe(x))
}

// describe says what was found instead of what was expected.
func describe(x any) string {
	switch x := x.(type) {
	case string:
		return "the string " + quote(x)
	case bool:
		return fmt.Sprintf("the boolean %t", x)
	case []any:
		return fmt.Sprintf("a list of %d", len(x))
	case map[string]any:
		return "an object"
	case nil:
		return "null"
	}
	return "the number " + proto.Text(x)
}

// quote shows s in a message, or only how long it is. A part of a long text is
// not shown: it may be a part of a secret, which no one would recognise and mask.
func quote(s string) string {
	const limit = 60
	if len(s) <= limit {
		return strconv.Quote(s)
	}
	return fmt.Sprintf("of %d bytes", len(s))
}
