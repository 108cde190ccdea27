package check_test

import (
	"context"
	"errors"
	"testing"

	"github.com/treadle-run/treadle/grapher"
	"github.com/treadle-run/treadle/grapher/internal/spectest"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/job/builtin"
)

// once is a job type whose jobs must not run twice.
type once struct{}

func (*once) Run(context.Context, job.Values) (job.Result, error) { return job.Result{}, nil }

func (*once) Declare() job.Declaration {
	return job.Declaration{
		Doc: "Pays.", Repeat: job.RepeatUnsafe,
		Args: []job.Arg{{Name: "ratio", Type: job.Float, Doc: "of the sum"}},
		Check: func(args job.Values) error {
			if args["ratio"] == 2.0 {
				return errors.New("nobody has that much")
			}
			return nil
		},
	}
}

func declaredTypes() *job.Registry {
	r := builtin.Registry()
	r.Register("team/deploy", func() job.Job { return nil })
	r.Register("once", func() job.Job { return &once{} })
	return r
}

// jobNode is specs with one job node that has these args, a line each; that of the
// problem ends in "#!".
func jobNode(jobType string, args ...string) string {
	lines := []string{"  a:", "    category: job", "    type: " + jobType, "    args:"}
	for _, a := range args {
		lines = append(lines, "      - "+a)
	}
	return spectest.Nodes(lines...)
}

const colon = `{expected: script, value: ":"}`

var badJobArgs = []badSpec{
	{check: "job-arg", where: "s/a", message: "arg `grace` of job type `shell`: expected a duration that is not negative such as \"1.5s\", got the number 10: write \"10s\" for seconds",
		spec: jobNode("shell", colon, "{expected: grace, value: 10} #!")},
	{check: "job-arg", where: "s/a", message: "arg `argv` of job type `command`: expected a list such as [\"ls\",\"-l\"], got the string \"ls -l\"",
		spec: jobNode("command", "{expected: argv, value: ls -l} #!")},
	{check: "job-arg", where: "s/a", message: "arg `argv` of job type `command`: element 2, \"${nme}\": ${nme} is no arg of this node, did you mean ${name}?; job data is ${data.NAME}",
		spec: jobNode("command", "{expected: name, given: x}", "{expected: argv, value: [echo, '${nme}']} #!")},
	{check: "job-arg", where: "s/a", message: `arg ` + "`argv` of job type `command`" + `: element 1, \"a${b\\n}\": ${b\n} is no arg of this node; job data is ${data.NAME}`,
		spec: jobNode("command", `{expected: argv, value: ["a${b\n}"]} #!`)},
	{check: "job-arg", where: "s/a", message: "arg `argv` of job type `command`: expected the name of a program first, got nothing",
		spec: jobNode("command", "{expected: argv, value: []} #!")},
	{check: "job-arg", where: "s/a", message: "arg `duration` of job type `sleep`: expected a duration that is not negative such as \"1.5s\", got the string \"ten minutes\"",
		spec: jobNode("sleep", "{expected: duration, value: ten minutes} #!")},
	{check: "job-arg", where: "s/a", message: "job type `sleep` requires arg `duration`, and the node does not give it", spec: spectest.Node("category: job, type: sleep")},
	{check: "job-arg", where: "s/a", message: "job type `shell` requires arg `script`, and the node does not give it, did you mean it by `scirpt`?",
		spec: spectest.Node("category: job, type: shell, args: [{expected: scirpt, given: x}]")},
	{check: "job-arg", where: "s/a", message: "arg `script` of job type `shell`: expected a string, got nothing", spec: jobNode("shell", `{expected: script, value: ""} #!`)},
	{check: "unknown-arg", where: "s/a", message: "job type `split` does not take arg `seperator`, did you mean `separator`?",
		spec: jobNode("split", "{expected: string, given: x}", "{expected: seperator, value: ;} #!")},
	{check: "unknown-arg", where: "s/a", message: "job type `fail` does not take arg `x`: it takes `times`, `message`", spec: jobNode("fail", "expected: x #!")},
	{check: "job-arg", where: "s/a", message: "arg `separator` of job type `split`: expected at least one character, got the empty string",
		spec: jobNode("split", "{expected: string, given: x}", `{expected: separator, value: ""} #!`)},
	{check: "job-arg", where: "s/a", message: "arg `times` of job type `fail`: expected a whole number from 0 on, got the number -1", spec: jobNode("fail", "{expected: times, value: -1} #!")},
	{check: "job-arg", where: "s/a", message: "arg `dry-run` of job type `shell`: expected a name that a shell variable can have: letters, digits and _, not a digit first",
		spec: jobNode("shell", colon, "{expected: dry-run, given: x} #!")},
	{check: "job-arg", where: "s/a", message: "arg `TREADLE_TRY` of job type `command`: names that start with TREADLE_ are reserved for Treadle",
		spec: jobNode("command", "{expected: argv, given: xs}", "{expected: TREADLE_TRY, given: x} #!")},
	{check: "job-arg", where: "s/a", message: "arg `script` of job type `shell`: expected a string, got a list of 1", spec: jobNode("shell", "{expected: script, value: [a]} #!")},
	{check: "job-arg", where: "s/a", message: "job type `once`: nobody has that much", spec: spectest.Node("category: job, type: once, args: [{expected: ratio, value: 2}]")},

	{check: "missing-set", where: "s/a", message: "job type `split` does not set arg `lst`, did you mean `list`?",
		spec: spectest.Nodes("  a: {category: job, type: split, args: [{expected: string, given: x}], sets: [{arg: lst}]} #!", "  b: {category: job, type: noop, args: [{expected: lst}], deps: [a]}")},
	{check: "missing-set", where: "s/a", message: "job type `fail` does not set arg `y`: it sets none",
		spec: spectest.Nodes("  a: {category: job, type: fail, sets: [{arg: y}]} #!", "  b: {category: job, type: noop, args: [{expected: y}], deps: [a]}")},

	{check: "job-default", where: "s/a", message: "the default of arg `wait`, given to job type `sleep` as `duration`: expected a duration that is not negative such as \"1.5s\", got the number 10: write \"10s\" for seconds",
		spec: defaultOf("optional", "{name: wait, type: int, default: 10}")},
	{check: "job-default", where: "s/a", message: "the default of arg `wait`, given to job type `sleep` as `duration`: expected a duration that is not negative such as \"1.5s\", got the string \"soon\"",
		spec: defaultOf("static", "{name: wait, default: soon}")},
}

func defaultOf(list, arg string) string {
	return spectest.Sequence("args: {"+list+": ["+arg+"]}", "nodes:", "  a: {category: job, type: sleep, args: [{expected: duration, given: wait}]} #!")
}

func TestBadJobArgs(t *testing.T) {
	t.Parallel()
	for _, row := range badJobArgs {
		row.registry = declaredTypes()
		t.Run(row.message, func(t *testing.T) { t.Parallel(); row.run(t) })
	}
}

// What a job type takes, and what only a request can know, is no mistake.
func TestGoodJobArgs(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"values of the request":             jobNode("sleep", "{expected: duration, given: x}"),
		"variables of a script":             jobNode("shell", colon, "{expected: anything, given: x}", "{expected: dir, given: x}"),
		"a number as text":                  jobNode("fail", `{expected: times, value: "2"}`),
		"optional args left out":            jobNode("fail", `{expected: times, value: ""}`, "{expected: message, value: null}"),
		"job data":                          jobNode("command", "{expected: argv, value: [echo, '${data.x}', $HOME]}"),
		"an element of each that is unused": spectest.Node(`category: job, type: sleep, each: ["xs:host"], args: [{expected: duration, value: 1s}]`),
		"an element of each as an arg":      spectest.Node(`category: job, type: sleep, each: ["xs:duration"]`),
		"any args of noop":                  jobNode("noop", "{expected: duration, value: 10}"),
		"a type that declares nothing":      jobNode("team/deploy", "{expected: grace, value: 10}"),
		"a default that is not given":       defaultOf("optional", `{name: wait, default: ""}`),
		"a secret default is not shown":     defaultOf("optional", `{name: wait, default: hunter2, secret: true}`),
		"a default that a node replaces": spectest.Sequence("args: {optional: [{name: wait, default: soon}]}", "nodes:",
			"  a: {category: job, type: sleep, args: [{expected: duration, given: wait}], deps: [b]}",
			"  b: {category: job, type: split, args: [{expected: string, value: x}], sets: [{arg: string, as: wait}]}"),
		"a default in the type of its arg": defaultOf("optional", "{name: wait, default: 10s}"),
		"what the node gives":              spectest.Nodes("  a: {category: job, type: noop, args: [{expected: x}], sets: [{arg: x, as: y}]}", "  b: {category: job, type: noop, args: [{expected: y}], deps: [a]}"),
	} {
		_, problems := grapher.Parse(map[string][]byte{"a.yaml": []byte(text)}, grapher.Options{Registry: declaredTypes()})
		for _, p := range problems {
			if p.Check == "job-arg" || p.Check == "unknown-arg" || p.Check == "job-default" || p.Check == "missing-set" {
				t.Errorf("%s: %s\n%s", name, p, text)
			}
		}
	}
}

// A type whose jobs must not run twice makes nodes that do not say otherwise
// `idempotent: false`.
func TestTheTypeSaysWhetherANodeIsIdempotent(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]bool{
		"type: once": false, "type: once, idempotent: true": true, "type: once, idempotent: false": false,
		"type: noop": true, "type: noop, idempotent: false": false,
	} {
		specs, problems := grapher.Parse(map[string][]byte{"a.yaml": []byte(spectest.Node("category: job, " + fields))}, grapher.Options{Registry: declaredTypes()})
		spectest.NoErrors(t, problems)
		if got := specs.Sequences["s"].Nodes["a"].Idempotent; got != want {
			t.Errorf("%s: idempotent is %t", fields, got)
		}
	}
}
