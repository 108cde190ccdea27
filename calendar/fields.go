package calendar

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// field is one of the five fields of a cron.
type field struct {
	name     string
	min, max int
	cycle    int      // how many values there are before they start again
	names    []string // of the values from min on
}

var fields = [5]field{
	{"minute", 0, 59, 60, nil},
	{"hour", 0, 23, 24, nil},
	{"day of month", 1, 31, 31, nil},
	{"month", 1, 12, 12, []string{"jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"}},
	{"day of week", 0, 7, 7, []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}}, // Sunday is 7, too
}

// The fields of the days.
const (
	dayOfMonth = 2
	dayOfWeek  = 4
)

// isEvery reports whether a field has no condition.
func isEvery(text string) bool { return text == "*" || text == "?" }

// expand returns the field as a list of numbers, and as it is if it has no condition.
// The parser of cron only sees these: its own words for what is wrong are not for users,
// and its ranges over the end of a week count Sunday twice.
func (f field) expand(text string) (string, error) {
	if isEvery(text) {
		return text, nil
	}
	on := make([]bool, f.max+1)
	for _, part := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' }) {
		first, count, step, err := f.span(part)
		if err != nil {
			return "", err
		}
		for i := 0; i < count; i += step {
			on[f.min+(first-f.min+i)%f.cycle] = true
		}
	}
	var values []string
	for value, is := range on {
		if is {
			values = append(values, strconv.Itoa(value))
		}
	}
	if len(values) == 0 {
		return "", fmt.Errorf("the %s has no value", f.name)
	}
	return strings.Join(values, ","), nil
}

// extended are the forms that other crons have for days: L, L-3, LW, 15W, 5L, FRIL, MON#2.
var extended = regexp.MustCompile(`(?i)#|^L|^[0-9]+[LW]$|^[a-z]{3}L$`)

// span returns the values of one part of a list: count of them from the first, of which
// each step counts.
func (f field) span(part string) (first, count, step int, err error) {
	if extended.MatchString(part) {
		return 0, 0, 0, fmt.Errorf("the %s has %s: L, W and # are not supported; write days as numbers, names, ranges and steps", f.name, quote(part))
	}
	values, stepText, stepped := strings.Cut(part, "/")
	from, to, ranged := strings.Cut(values, "-")
	last := 0
	switch {
	case isEvery(values):
		first, last = f.min, f.max
	default:
		if first, err = f.value(from); err != nil {
			return 0, 0, 0, err
		}
		last = first
		if ranged {
			if last, err = f.value(to); err != nil {
				return 0, 0, 0, err
			}
		} else if stepped {
			last = f.max
		}
	}
	count = last - first + 1
	if last < first {
		count += f.cycle
	}
	step = 1
	if stepped {
		step, err = strconv.Atoi(stepText)
		if err != nil || step < 1 || step > 1 && step >= count {
			return 0, 0, 0, fmt.Errorf("the %s has %s: a step must be a whole number of at least 1, and less than the %d values that it counts over", f.name, quote(part), count)
		}
	}
	return first, count, step, nil
}

// value returns the number of a value, which may be a name.
func (f field) value(text string) (int, error) {
	if i := slices.Index(f.names, strings.ToLower(text)); i >= 0 {
		return f.min + i, nil
	}
	x, err := strconv.Atoi(text)
	if err != nil || x < f.min || x > f.max || !isDigit(text[0]) {
		also := ""
		if f.names != nil {
			also = fmt.Sprintf(", or a name from %s to %s", f.names[0], f.names[len(f.names)-1])
		}
		return 0, fmt.Errorf("the %s has %s: it must be a number from %d to %d%s", f.name, quote(text), f.min, f.max, also)
	}
	return x, nil
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// BothDays reports whether a cron starts only on days that match both its day of month
// and its day of week, as 0 0 */2 * 1 does. Where both have conditions, one of them is
// enough, unless one starts with *.
func BothDays(expr string) bool {
	f := strings.Fields(expr)
	if len(f) != len(fields) {
		return false
	}
	for _, i := range []int{dayOfMonth, dayOfWeek} {
		all := strings.Count(f[i], ",") == 0 && strings.HasSuffix(f[i], "/1")
		if isEvery(f[i]) || all && !given(f[i]) || strings.HasPrefix(f[i], "*,") {
			return false
		}
	}
	return !given(f[dayOfMonth]) || !given(f[dayOfWeek])
}
