package job

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// Accept returns the args as they are declared: text that stands for a number is a
// number, defaults are filled in, and what counts as not given is left out. Other args
// are in it as they are. The error is an ArgError, or what Check returned. It does not
// change args.
func (d *Declaration) Accept(args Values) (Values, error) {
	accepted, mistakes := d.accept(args)
	if len(mistakes) > 0 {
		return nil, mistakes[0]
	}
	if d.Check != nil {
		if err := d.Check(accepted); err != nil {
			return nil, err
		}
	}
	return accepted, nil
}

// Mistakes returns all that is wrong with args, some of which may be Unknown. Args
// that the type does not declare are no mistake here. A panic of Check is returned as
// a PanicError.
func (d *Declaration) Mistakes(args Values) []error {
	accepted, mistakes := d.accept(args)
	if err := d.check(accepted); err != nil {
		mistakes = append(mistakes, err)
	}
	return mistakes
}

func (d *Declaration) check(args Values) (err error) {
	if d.Check == nil {
		return nil
	}
	defer recoverAs("Check", &err)
	return d.Check(args)
}

// accept returns the args as they are declared, and those that are wrong as Unknown:
// Check need not expect them.
func (d *Declaration) accept(args Values) (accepted Values, mistakes []error) {
	if accepted = maps.Clone(args); accepted == nil {
		accepted = Values{}
	}
	for i := range d.Args {
		a := &d.Args[i]
		x := args[a.Name]
		switch {
		case x == Unknown:
		case a.isGiven(x):
			v, err := a.Accept(x)
			if err != nil {
				mistakes = append(mistakes, &ArgError{Arg: a.Name, Message: err.Error()})
				v = Unknown
			}
			accepted[a.Name] = v
		case a.Required:
			mistakes = append(mistakes, ArgErrorf(a.Name, "expected %s, got nothing", a.phrase()))
			accepted[a.Name] = Unknown
		case a.Default != nil:
			accepted[a.Name] = Values{"": a.Default}.Clone()[""]
		default:
			delete(accepted, a.Name)
		}
	}
	return accepted, mistakes
}

func (a *Arg) isGiven(x any) bool {
	return x != nil && (x != "" || a.Empty)
}

// Accept returns one value as the arg declares it, or says what was expected.
func (a *Arg) Accept(x any) (any, error) {
	v, ok := a.convert(x)
	if !ok || !a.within(v) {
		return nil, fmt.Errorf("expected %s, got %s%s", a.phrase(), Describe(x), a.hint(x))
	}
	if len(a.Enum) > 0 && !slices.Contains(a.Enum, proto.Text(v)) {
		return nil, fmt.Errorf("expected %s, got %s", a.phrase(), Describe(x))
	}
	if text, ok := v.(string); ok && a.Pattern != "" {
		pattern := a.pattern
		if pattern == nil {
			var err error
			if pattern, err = compile(a.Pattern); err != nil {
				return nil, err
			}
		}
		if !pattern.MatchString(text) {
			return nil, fmt.Errorf("expected %s that matches %s, got %s", a.phrase(), a.Pattern, Describe(x))
		}
	}
	return v, nil
}

// convert returns x in the type of the arg, and false if it is of another one.
func (a *Arg) convert(x any) (v any, ok bool) {
	text, isText := x.(string)
	switch a.Type {
	case Any:
		return x, true
	case String:
		return x, isText
	case Duration:
		d, err := time.ParseDuration(text)
		return x, isText && err == nil && d >= 0
	case List:
		_, ok = x.([]any)
	case Object:
		_, ok = x.(map[string]any)
	case Bool:
		if _, ok = x.(bool); !ok && (text == "true" || text == "false") {
			return text == "true", true
		}
	case Int:
		return toInt(x)
	case Float:
		return toFloat(x)
	}
	return x, ok
}

func toInt(x any) (any, bool) {
	switch x := x.(type) {
	case int64:
		return x, true
	case uint64: // beyond 63 bits
		return x, true
	case string:
		if n, err := strconv.ParseInt(x, 10, 64); err == nil && strconv.FormatInt(n, 10) == x {
			return n, true
		}
	}
	return x, false
}

func toFloat(x any) (any, bool) {
	switch x := x.(type) {
	case float64:
		return x, true
	case int64:
		return float64(x), true
	case uint64:
		return float64(x), true
	case string:
		if f, err := strconv.ParseFloat(x, 64); err == nil && !math.IsInf(f, 0) && !math.IsNaN(f) {
			return f, true
		}
	}
	return x, false
}

// within reports whether a number is between the bounds of the arg.
func (a *Arg) within(v any) bool {
	switch v := v.(type) {
	case int64:
		return (a.Min == nil || v >= *a.Min) && (a.Max == nil || v <= *a.Max)
	case uint64:
		return a.Max == nil || *a.Max >= 0 && v <= uint64(*a.Max)
	case float64:
		return (a.Min == nil || v >= float64(*a.Min)) && (a.Max == nil || v <= float64(*a.Max))
	}
	return true
}

// phrase says in words what is expected.
func (a *Arg) phrase() string {
	if len(a.Enum) > 0 {
		return "one of " + strings.Join(a.Enum, ", ")
	}
	phrase := map[ArgType]string{
		Any: "a value", String: "a string", Int: "a whole number", Float: "a number", Bool: "true or false",
		List: "a list", Object: "an object", Duration: "a duration that is not negative",
	}[a.Type]
	switch {
	case a.Min != nil && a.Max != nil:
		phrase += fmt.Sprintf(" from %d to %d", *a.Min, *a.Max)
	case a.Min != nil:
		phrase += fmt.Sprintf(" from %d on", *a.Min)
	case a.Max != nil:
		phrase += fmt.Sprintf(" up to %d", *a.Max)
	}
	example := a.Example
	if example == nil && a.Type == Duration {
		example = "1.5s"
	}
	if example == nil {
		return phrase
	}
	return phrase + " such as " + Literal(example)
}

// hint says what may have been meant, for mistakes that are often made.
func (a *Arg) hint(x any) string {
	if a.Type != Duration {
		return ""
	}
	text := proto.Text(x)
	if n, err := strconv.ParseFloat(text, 64); err == nil && n >= 0 && len(text) < 20 {
		return fmt.Sprintf(": write %q for seconds", text+"s")
	}
	return ""
}

// Literal returns a value as a spec may have it: text in quotes, a list or an object
// as JSON.
func Literal(x any) string {
	v, err := proto.NormalizeValue(x)
	if err != nil {
		return fmt.Sprint(x)
	}
	b, err := proto.EncodeValue(v)
	if err != nil {
		return fmt.Sprint(x)
	}
	return string(b)
}

// Describe says what was found instead of what was expected. Of a long text it says
// only how long it is: a part of it may be a part of a secret, which nobody would
// recognise and mask.
func Describe(x any) string {
	const limit = 60
	switch x := x.(type) {
	case string:
		if len(x) > limit {
			return fmt.Sprintf("the string of %d bytes", len(x))
		}
		return "the string " + strconv.Quote(x)
	case bool:
		return fmt.Sprintf("the boolean %t", x)
	case []any:
		return fmt.Sprintf("a list of %d", len(x))
	case map[string]any:
		return "an object"
	case nil:
		return "null"
	case unknown:
		return x.String()
	}
	return "the number " + proto.Text(x)
}
