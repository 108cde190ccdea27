package builtin

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agnivade/levenshtein"

	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// dataPrefix marks a name in argv that job data has when the job runs.
const dataPrefix = "data."

// command runs a program with arguments, without a shell between. ${name} in an
// element stands for an arg, ${data.name} for job data, $$ for a dollar sign.
// What is filled in stays within its element.
type command struct {
	program
}

var commandDeclaration = job.Declaration{
	Doc:    "Runs a program with its arguments, without a shell.",
	Repeat: job.RepeatDepends,
	Args: append([]job.Arg{
		{Name: "argv", Type: job.List, Required: true, Example: []any{"ls", "-l"}, Doc: "the program, then its arguments"},
	}, programArgs...),
	Others: "are values for `argv`, and variables of the environment if their names are valid for one",
	Check:  checkCommand,
}

// Declare makes it a job.Declarer.
func (*command) Declare() job.Declaration { return commandDeclaration }

// Create has nothing to do: the args have been checked, and it keeps none.
func (*command) Create(context.Context, job.Values) error { return nil }

// checkCommand checks argv, and the args that it names.
func checkCommand(args job.Values) error {
	variables := maps.Clone(args)
	delete(variables, "argv")
	if err := checkVariables(variables, false); err != nil {
		return err
	}
	if args["argv"] == job.Unknown {
		return nil
	}
	argv, err := elements(args)
	if err != nil {
		return err
	}
	var c command
	c.configure(variables)
	size := 0
	for i, element := range argv {
		// Without job data: what an element has by itself must fit whatever comes later.
		text, err := expand(element, c.lookup(nil))
		if err == nil {
			err = checkElement(text)
		}
		if err != nil {
			return job.ArgErrorf("argv", "element %d, %s: %v", i+1, quote(element), err)
		}
		size += sizeOf(text)
	}
	if size > maxArguments {
		return job.ArgErrorf("argv", "has %d bytes, at most %d can be given to a program", size, maxArguments)
	}
	return nil
}

// Run fills in argv and runs it. It fails with any exit code but 0, and, before
// anything runs, if job data lacks what argv names.
func (c *command) Run(ctx context.Context, data job.Values) (job.Result, error) {
	args, err := commandDeclaration.Accept(job.InfoOf(ctx).Args)
	if err != nil {
		return job.Result{}, err
	}
	argv, err := elements(args)
	if err != nil {
		return job.Result{}, err
	}
	delete(args, "argv")
	c.configure(args)
	if data == nil {
		data = job.Values{} // none is not the same as not known yet
	}
	for i, element := range argv {
		if argv[i], err = expand(element, c.lookup(data)); err == nil {
			err = checkElement(argv[i])
		}
		if err != nil {
			return job.Result{}, fmt.Errorf("arg argv: element %d, %s: %w", i+1, quote(element), err)
		}
	}
	return c.run(ctx, argv, data)
}

// checkElement says if an element of argv is too long for any program.
func checkElement(text string) error {
	if len(text) > maxVariable {
		return fmt.Errorf("has %d bytes, at most %d can be given to a program as one argument", len(text), maxVariable)
	}
	return nil
}

// elements returns the elements of argv as they are written.
func elements(args job.Values) ([]string, error) {
	list, _ := args["argv"].([]any)
	argv := make([]string, len(list))
	for i, x := range list {
		argv[i] = proto.Text(x)
		if strings.Contains(argv[i], "\x00") {
			return nil, job.ArgErrorf("argv", "element %d has a NUL byte, which no program can be given", i+1)
		}
	}
	if len(argv) == 0 || argv[0] == "" {
		return nil, job.ArgErrorf("argv", "expected the name of a program first, got nothing")
	}
	return argv, nil
}

// lookup returns the values of names in argv. With data nil, as it is when the
// request is created, every name of job data has some value.
func (c *command) lookup(data job.Values) func(name string) (string, error) {
	return func(name string) (string, error) {
		if x, ok := c.args[name]; ok {
			return proto.Text(x), nil
		}
		key, fromData := strings.CutPrefix(name, dataPrefix)
		if !fromData || key == "" {
			return "", fmt.Errorf("${%s} is no arg of this node%s; job data is ${%sNAME}", name, c.meant(name), dataPrefix)
		}
		if data == nil {
			return "", nil
		}
		x, ok := data[key]
		if !ok {
			return "", fmt.Errorf("no job before this one has set %q", key)
		}
		text := proto.Text(x)
		if strings.Contains(text, "\x00") {
			return "", fmt.Errorf("${%s} has a NUL byte, which no program can be given", name)
		}
		return text, nil
	}
}

// meant returns ", did you mean ${x}?" for the arg nearest to name, and "" if none is.
func (c *command) meant(name string) string {
	const longest = 100 // comparing costs the product of lengths
	best, distance := "", min(3, (len(name)+2)/3)+1
	for _, arg := range slices.Sorted(maps.Keys(c.args)) {
		if len(name) > longest || len(arg) > longest {
			continue
		}
		if d := levenshtein.ComputeDistance(name, arg); d < distance && d < len(name) {
			best, distance = arg, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean ${%s}?", best)
}

// expand fills in ${name} and $$. A dollar sign before anything else is itself.
func expand(s string, lookup func(name string) (string, error)) (string, error) {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "$")
		b.WriteString(before)
		switch {
		case !found:
			return b.String(), nil
		case strings.HasPrefix(rest, "$"):
			b.WriteByte('$')
			s = rest[1:]
		case strings.HasPrefix(rest, "{"):
			name, after, closed := strings.Cut(rest[1:], "}")
			if !closed {
				return "", fmt.Errorf("${ without a }; write $${ for itself")
			}
			value, err := lookup(name)
			if err != nil {
				return "", err
			}
			b.WriteString(value)
			s = after
		default:
			b.WriteByte('$')
			s = rest
		}
	}
}

// MarshalBinary returns nothing: all that the job needs is in its args.
func (c *command) MarshalBinary() ([]byte, error) { return nil, nil }

// UnmarshalBinary takes what MarshalBinary returns.
func (c *command) UnmarshalBinary([]byte) error { return nil }
