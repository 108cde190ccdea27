package job

import (
	"fmt"
	"regexp"
	"slices"

	"github.com/treadle-run/treadle/proto"
)

// Declarer is a Job that declares its args. The declaration is their one
// description: args are checked against it when specs are checked and when a
// request is created, and `treadle job-types` shows it.
//
// Create then gets only args that fit. A job type without Create has its exported
// fields filled from the args as Declaration.Accept returns them, with defaults. A
// job type without a declaration takes any args.
type Declarer interface {
	// Declare is called once, on a new value, when the type is registered.
	Declare() Declaration
}

// Declaration says what a job type is for and which args it takes.
type Declaration struct {
	Doc  string `json:"doc"` // a sentence: what the type does
	Args []Arg  `json:"args"`
	// Others says what becomes of args that are not in Args; "" if the type takes no
	// others. Specs are then refused if a node lists one.
	Others string `json:"others,omitempty"`
	// Sets has the args that Create sets, for the `sets` of a node: only their names,
	// types and docs count.
	Sets []Arg `json:"sets,omitempty"`
	// Repeat says whether a job may run twice, as it does if its runner is lost. A node
	// that does not say `idempotent` is not if its type is RepeatUnsafe.
	Repeat Repeat `json:"repeat"`
	// Check finds what no arg shows alone, if it is not nil; an error of an arg should
	// be an ArgError. It gets what Accept returns. In specs that are only checked,
	// Unknown stands for a value that a request has yet to give, or that is wrong.
	Check func(args Values) error `json:"-"`
}

// Repeat says whether running a job a second time does harm.
type Repeat string

// The answers to whether a job may run twice.
const (
	RepeatSafe    Repeat = "safe"    // as often as need be
	RepeatUnsafe  Repeat = "unsafe"  // not without someone who has looked
	RepeatDepends Repeat = "depends" // on the args: on what a script does
)

// Arg declares one arg of a job type.
type Arg struct {
	Name string  `json:"name"`
	Type ArgType `json:"type,omitempty"` // "" is any value
	Doc  string  `json:"doc"`
	// Required: it must be given. Null is not given, and neither is the empty string, as
	// a spec that hands on an optional arg has no other way to leave it out.
	Required bool `json:"required"`
	// Empty makes the empty string a value of its own.
	Empty bool `json:"empty,omitempty"`
	// Default is the value of an arg that is not given; nil is none. For a type that has
	// another default than one value, Doc says it.
	Default any `json:"default,omitempty"`
	// Example is shown in messages: "expected a list such as EXAMPLE".
	Example any `json:"example,omitempty"`
	// Enum has all values that are allowed, by their text; without any, all are.
	Enum []string `json:"enum,omitempty"`
	// Pattern is a regular expression that the whole of a string must match.
	Pattern string `json:"pattern,omitempty"`
	// Min and Max bound a number, both included.
	Min *int64 `json:"min,omitempty"`
	Max *int64 `json:"max,omitempty"`

	pattern *regexp.Regexp
}

// ArgType is the type of the values of an arg.
type ArgType string

// The types of args. Text that reads exactly as an int, a float or a bool is taken as
// that.
const (
	Any      ArgType = ""
	String   ArgType = "string"
	Int      ArgType = "int"
	Float    ArgType = "float"
	Bool     ArgType = "bool"
	List     ArgType = "list"
	Object   ArgType = "object"
	Duration ArgType = "duration" // text such as "1.5s", not negative
)

// Unknown stands for the value of an arg that is not known yet.
var Unknown any = unknown{}

type unknown struct{}

// String is what a message shows.
func (unknown) String() string { return "a value that is not known yet" }

// Arg returns the arg of that name, and false if the type does not declare it.
func (d *Declaration) Arg(name string) (*Arg, bool) {
	for i := range d.Args {
		if d.Args[i].Name == name {
			return &d.Args[i], true
		}
	}
	return nil, false
}

// Names returns the names of the declared args, in their order.
func (d *Declaration) Names() []string {
	names := make([]string, len(d.Args))
	for i := range d.Args {
		names[i] = d.Args[i].Name
	}
	return names
}

// prepare compiles the patterns, and returns what is wrong with the declaration: a
// mistake of the author of the job type.
func (d *Declaration) prepare() error {
	if d.Doc == "" {
		return fmt.Errorf("it has no Doc")
	}
	if !slices.Contains([]Repeat{RepeatSafe, RepeatUnsafe, RepeatDepends}, d.Repeat) {
		return fmt.Errorf("Repeat must be RepeatSafe, RepeatUnsafe or RepeatDepends, not %q", d.Repeat)
	}
	d.Args, d.Sets = slices.Clone(d.Args), slices.Clone(d.Sets)
	for _, list := range [][]Arg{d.Args, d.Sets} {
		seen := map[string]bool{}
		for i := range list {
			a := &list[i]
			if seen[a.Name] {
				return fmt.Errorf("arg %q is declared twice", a.Name)
			}
			seen[a.Name] = true
			if err := a.prepare(); err != nil {
				return fmt.Errorf("arg %q: %w", a.Name, err)
			}
		}
	}
	return nil
}

func (a *Arg) prepare() error {
	if a.Name == "" || len(a.Name) > proto.MaxArgName {
		return fmt.Errorf("a name has 1 to %d bytes", proto.MaxArgName)
	}
	if a.Doc == "" {
		return fmt.Errorf("it has no Doc")
	}
	if !slices.Contains([]ArgType{Any, String, Int, Float, Bool, List, Object, Duration}, a.Type) {
		return fmt.Errorf("unknown type %q", a.Type)
	}
	if a.Pattern != "" {
		var err error
		if a.pattern, err = compile(a.Pattern); err != nil {
			return err
		}
	}
	if a.Default == nil {
		return nil
	}
	if a.Required {
		return fmt.Errorf("it is required and has a default")
	}
	v, err := proto.NormalizeValue(a.Default)
	if err != nil {
		return fmt.Errorf("its default: %w", err)
	}
	if a.Default, err = a.Accept(v); err != nil {
		return fmt.Errorf("its default: %w", err)
	}
	return nil
}

func compile(pattern string) (*regexp.Regexp, error) {
	return regexp.Compile(`^(?:` + pattern + `)$`)
}
