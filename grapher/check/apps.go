package check

import (
	"fmt"
	"maps"
	"slices"

	"github.com/treadle-run/treadle/grapher/problem"
	"github.com/treadle-run/treadle/grapher/spec"
	"github.com/treadle-run/treadle/proto"
)

// addApp takes an app in. The first of a name counts.
func (c *checker) addApp(a *spec.App) {
	if _, ok := c.apps[a.Name]; ok {
		c.twiceApps = append(c.twiceApps, a)
		return
	}
	c.apps[a.Name] = a
}

// checkApps makes all checks of apps: those of App on each, and a search for cycles in
// all of them at once.
func checkApps(p *pass) {
	for _, a := range p.twiceApps {
		first := p.apps[a.Name]
		p.appProblem(a, AppProblem{Field: "name", Check: p.check, Message: fmt.Sprintf("the app is defined here and also at %s:%d", first.File, first.Line)})
	}
	all := make(map[string]proto.App, len(p.apps))
	for name, a := range p.apps {
		all[name] = a.App
	}
	names := slices.Sorted(maps.Keys(p.apps))
	for _, name := range names {
		a := p.apps[name]
		c := appCheck{sequences: p.Sequences, app: a.App, others: all, suggest: p.suggest}
		c.run()
		p.appProblems(a, c.problems)
	}
	p.appCycles(names)
	for _, name := range names {
		a := p.apps[name]
		a.DropFields()
		p.Apps = append(p.Apps, *a)
	}
}

func (p *pass) appCycles(names []string) {
	place := make(map[string]int, len(names))
	for i, name := range names {
		place[name] = i
	}
	next := func(i int) []int {
		var ups []int
		for _, up := range slices.Sorted(maps.Keys(p.apps[names[i]].Depends)) {
			if j, ok := place[up]; ok {
				ups = append(ups, j)
			}
		}
		return ups
	}
	for _, cycle := range cycles(len(names), next) {
		in := make([]string, len(cycle))
		for i, v := range cycle {
			in[i] = names[v]
		}
		a := p.apps[in[0]]
		c := appCheck{app: a.App}
		c.cycleProblem(in)
		p.appProblems(a, c.problems)
	}
}

// appProblems reports what is wrong with an app. Where decoding found a malformed
// value, that it is missing or does not fit needs no second problem.
func (p *pass) appProblems(a *spec.App, problems []AppProblem) {
	whenMalformed := a.Malformed("every", "cron", "starts", "depends")
	for _, x := range problems {
		switch {
		case a.Malformed(spec.WholeApp) && x.Check != "app-name":
		case a.Malformed(x.Field), x.Check == "app-when" && whenMalformed:
		case x.Check == "app-args" && a.Malformed("args"):
		default:
			p.appProblem(a, x)
		}
	}
}

func (p *pass) appProblem(a *spec.App, x AppProblem) {
	p.Add(problem.Problem{
		File: a.File, Line: a.FieldLine(x.Field, x.Key), Check: x.Check, Severity: Severity(x.Check, p.warn),
		App: a.Name, Message: x.Message,
	})
}
