package tools

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/job"
)

// jobType is a job type as --output json has it.
type jobType struct {
	Type string `json:"type"`
	*job.Declaration
}

// JobTypesVerb shows what the job types of the program take.
func JobTypesVerb(types *job.Registry, out *term.Out) *cobra.Command {
	c := &cobra.Command{
		Use:   "job-types [TYPE]",
		Short: "List the job types of this program, or show the args of one",
		Long: `Lists the job types of this program, or shows one: which args it takes, which it sets, and
whether its jobs may run twice. Specs are checked against the same declaration.`,
		Example: `  treadle job-types
  treadle job-types shell
  treadle job-types --output json`,
		Args: verb.Takes(0, 1, "at most one TYPE"),
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return showJobType(types, out, args[0])
			}
			return listJobTypes(types, out)
		},
	}
	return verb.OutputFlag(c, out)
}

func listJobTypes(types *job.Registry, out *term.Out) error {
	list := []jobType{}
	for _, name := range types.Types() {
		d, _ := types.Declaration(name)
		list = append(list, jobType{name, d})
	}
	return out.Show(list, func() error {
		t := out.Table("TYPE", "ARGS", "WHAT IT DOES")
		for _, j := range list {
			if j.Declaration == nil {
				t.Row(j.Type, "any", "declares nothing of itself")
				continue
			}
			t.Row(j.Type, argNames(j.Declaration), j.Doc)
		}
		return t.Flush()
	})
}

// argNames lists the args of a type, those that need not be given in brackets.
func argNames(d *job.Declaration) string {
	var names []string
	for i := range d.Args {
		name := d.Args[i].Name
		if !d.Args[i].Required {
			name = "[" + name + "]"
		}
		names = append(names, name)
	}
	if d.Others != "" {
		names = append(names, "...")
	}
	return term.OrDash(strings.Join(names, " "))
}

func showJobType(types *job.Registry, out *term.Out, name string) error {
	if !types.Has(name) {
		if near := verb.Nearest(name, types.Types()); near != "" {
			return verb.Usagef("unknown job type %q, did you mean %s?", name, near)
		}
		return verb.Usagef("unknown job type %q; treadle job-types lists all", name)
	}
	d, _ := types.Declaration(name)
	return out.Show(jobType{name, d}, func() error {
		if d == nil {
			return out.Printf("%s declares nothing of itself: it takes any args, which only it checks\n", term.Clean(name))
		}
		return printDeclaration(out, name, d)
	})
}

func printDeclaration(out *term.Out, name string, d *job.Declaration) error {
	t := out.Table()
	t.Row("type", name)
	t.Row("does", d.Doc)
	t.Row("may run twice", MayRunTwice(d.Repeat))
	if d.Others != "" {
		t.Row("other args", d.Others)
	} else {
		t.Row("other args", "are refused")
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(d.Args)+len(d.Sets) == 0 {
		return nil
	}
	if err := out.Printf("\n"); err != nil {
		return err
	}
	t = out.Table("ARG", "TYPE", "GIVEN", "WHAT IT IS")
	for i := range d.Args {
		a := &d.Args[i]
		t.Row(a.Name, a.TypeText(), a.GivenText(), a.Doc)
	}
	for i := range d.Sets {
		a := &d.Sets[i]
		t.Row(a.Name, a.TypeText(), "set by the job", a.Doc)
	}
	return t.Flush()
}

// MayRunTwice says what a Repeat means.
func MayRunTwice(r job.Repeat) string {
	switch r {
	case job.RepeatSafe:
		return "yes"
	case job.RepeatUnsafe:
		return "no: a node is `idempotent: false` unless it says otherwise"
	case job.RepeatDepends:
		return "depends on what it runs: say `idempotent: false` in a node that must not"
	}
	return fmt.Sprintf("unknown answer %q", string(r))
}
