package grapher

import (
	"fmt"
	"maps"
	"slices"

	"github.com/treadle-run/treadle/grapher/problem"
	"github.com/treadle-run/treadle/grapher/spec"
	"github.com/treadle-run/treadle/proto"
)

// Sequence returns the sequence of that name, and false if there is none. The
// built-in one is not among them.
func (s *Specs) Sequence(name string) (*spec.Sequence, bool) {
	seq, ok := s.Sequences[name]
	return seq, ok
}

// Requests returns what users can ask for, sorted by name. Secret defaults and
// choices are masked.
func (s *Specs) Requests() []proto.RequestSpec {
	requests := []proto.RequestSpec{}
	for _, name := range s.Sequences.RequestTypes() {
		requests = append(requests, proto.RequestSpec{Name: name, Args: requestArgs(s.Sequences[name])})
	}
	return requests
}

// requestArgs returns the args of a request without values: required, optional,
// static.
func requestArgs(s *spec.Sequence) []proto.RequestArg {
	args := []proto.RequestArg{}
	types := [3]string{proto.ArgRequired, proto.ArgOptional, proto.ArgStatic}
	for i, list := range s.Args.Lists() {
		for pos, a := range list {
			arg := proto.RequestArg{
				Pos: pos, Name: a.Name, Desc: a.Desc, Type: types[i], Default: a.Default,
				ValueType: a.Type, Enum: a.Enum, Pattern: a.Pattern, Secret: a.Secret,
			}
			if a.Secret {
				arg.Enum = nil
				if a.Default != nil {
					arg.Default = proto.SecretMask
				}
			}
			args = append(args, arg)
		}
	}
	return args
}

// RequestArgs checks the args that a caller gave for a request and completes them
// with defaults and static ones: all has the value of every arg. List has the args
// as they are stored and shown, secret values masked; secrets has the texts of the
// secret values that are not empty.
//
// The error is a proto.Error with CodeInvalid. It names every arg that is
// missing, unknown, static or of a value that its spec does not allow, and never
// has the text of a secret.
func (s *Specs) RequestArgs(requestType string, given proto.Values) (all proto.Values, list []proto.RequestArg, secrets []string, err error) {
	if requestType == "" {
		return nil, nil, nil, proto.Errorf(proto.CodeInvalid, "which request? Type is missing")
	}
	seq, ok := s.Sequences[requestType]
	if !ok || !seq.Request {
		return nil, nil, nil, proto.Errorf(proto.CodeInvalid, "unknown request type %s%s",
			problem.Quote(requestType), problem.NewSuggester().Meant(requestType, s.Sequences.RequestTypes()))
	}
	c := argCheck{seq: seq, given: given, all: make(proto.Values, len(given)), list: requestArgs(seq)}
	for i := range c.list {
		c.arg(&c.list[i])
	}
	c.unknown()
	if len(c.mistakes) > 0 {
		return nil, nil, nil, proto.Errorf(proto.CodeInvalid, "request %s: %s", problem.Quote(requestType), c.message())
	}
	return c.all, c.list, c.secrets, nil
}

// argCheck is the check of the args of one request.
type argCheck struct {
	seq      *spec.Sequence
	given    proto.Values
	all      proto.Values
	list     []proto.RequestArg
	secrets  []string
	mistakes []string
}

func (c *argCheck) mistake(name, format string, args ...any) {
	c.mistakes = append(c.mistakes, "arg "+problem.Quote(name)+" "+fmt.Sprintf(format, args...))
}

// arg takes over the value of one arg, or notes what is wrong with it.
func (c *argCheck) arg(r *proto.RequestArg) {
	a, _ := c.seq.Arg(r.Name)
	x, given := c.given[r.Name]
	switch {
	case given && r.Type == proto.ArgStatic:
		c.mistake(r.Name, "is static: it cannot be given")
		return
	case !given && r.Type == proto.ArgRequired:
		c.mistake(r.Name, "is required, and not given%s", describeArg(a))
		return
	case !given:
		x = proto.Values{r.Name: a.Default}.Clone()[r.Name]
	default:
		var err error
		if x, err = a.AcceptGiven(x); err != nil {
			c.mistake(r.Name, "%s", err)
			return
		}
	}
	c.all[r.Name] = x
	r.Given, r.Value = given, x
	if a.Secret {
		r.Value = proto.SecretMask
		c.secrets = appendTexts(c.secrets, x)
	}
}

func describeArg(a *spec.Arg) string {
	if a.Desc == "" {
		return ""
	}
	return " (" + problem.Plain(a.Desc) + ")"
}

// unknown notes the given args that the request does not have.
func (c *argCheck) unknown() {
	suggest := problem.NewSuggester()
	var known []string
	for i := range c.list {
		if c.list[i].Type != proto.ArgStatic {
			known = append(known, c.list[i].Name)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.given)) {
		if _, ok := c.seq.Arg(name); ok {
			continue
		}
		hint := suggest.Meant(name, known)
		switch {
		case hint != "":
		case len(known) == 0:
			hint = ": the request takes no args"
		default:
			hint = ": the request takes " + problem.QuoteAll(known)
		}
		c.mistake(name, "is unknown%s", hint)
	}
}

// message joins the mistakes; a hostile request can have very many.
func (c *argCheck) message() string {
	return proto.JoinNames(c.mistakes, "; ")
}

// appendTexts adds the text of x, and the texts inside if it is a list or an
// object: each alone may show up somewhere.
func appendTexts(texts []string, x any) []string {
	switch x := x.(type) {
	case nil:
		return texts
	case []any:
		for _, y := range x {
			texts = appendInner(texts, y)
		}
		if len(x) == 0 {
			return texts
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			texts = appendInner(texts, x[k])
		}
		if len(x) == 0 {
			return texts
		}
	}
	if text := proto.Text(x); text != "" {
		texts = append(texts, text)
	}
	return texts
}

// appendInner is appendTexts for an element. Numbers and booleans are left out:
// masking every 1 and every true would leave nothing to read.
func appendInner(texts []string, x any) []string {
	switch x.(type) {
	case string, []any, map[string]any:
		return appendTexts(texts, x)
	}
	return texts
}
