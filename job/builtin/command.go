package builtin

import (
	"context"
	"fmt"
	"maps"
	"strings"

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

// Create checks the args: `argv`, optional `dir` and `grace`, and those that argv
// names.
func (c *command) Create(_ context.Context, args job.Values) error {
	argv, err := c.parse(args)
	if err != nil {
		return err
	}
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
	argv, err := c.parse(job.InfoOf(ctx).Args)
	if err != nil {
		return job.Result{}, err
	}
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

// parse reads the args, and returns the elements of argv as they are written.
func (c *command) parse(args job.Values) ([]string, error) {
	args = maps.Clone(args)
	list, ok := args["argv"].([]any)
	if !ok || len(list) == 0 {
		return nil, job.ArgErrorf("argv", "expected a list of a program and its arguments, got %s", describe(args["argv"]))
	}
	argv := make([]string, len(list))
	for i, x := range list {
		argv[i] = proto.Text(x)
		if strings.Contains(argv[i], "\x00") {
			return nil, job.ArgErrorf("argv", "element %d has a NUL byte, which no program can be given", i+1)
		}
	}
	if argv[0] == "" {
		return nil, job.ArgErrorf("argv", "expected the name of a program first, got the empty string")
	}
	delete(args, "argv")
	if err := checkVariables(args, false); err != nil {
		return nil, err
	}
	return argv, c.configure(args)
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
			return "", fmt.Errorf("${%s} is no arg of this node; job data is ${%sNAME}", name, dataPrefix)
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
