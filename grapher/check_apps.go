package grapher

import (
	"fmt"
	"maps"
	"slices"

	"github.com/treadle-run/treadle/proto"
)

// addApp takes an app in. The first of a name counts.
func (c *checker) addApp(a *App) {
	if _, ok := c.apps[a.Name]; ok {
		c.twiceApps = append(c.twiceApps, a)
		return
	}
	c.apps[a.Name] = a
}

// checkApps makes all checks of apps: CheckApp on each, and a search for circles in
// all of them at once.
func checkApps(p *pass) {
	for _, a := range p.twiceApps {
		first := p.apps[a.Name]
		p.appProblem(a, AppProblem{Field: "name", Check: p.check, Message: fmt.Sprintf("the app is defined here and at %s:%d", first.File, first.Line)})
	}
	all := make(map[string]proto.App, len(p.apps))
	for name, a := range p.apps {
		all[name] = a.App
	}
	names := slices.Sorted(maps.Keys(p.apps))
	for _, name := range names {
		a := p.apps[name]
		c := appCheck{specs: p.Specs, app: a.App, others: all, suggest: p.suggest}
		c.run()
		p.appProblems(a, c.problems)
	}
	p.appCircles(names)
	for _, name := range names {
		a := p.apps[name]
		a.fields, a.argLines, a.upLines, a.malformed = nil, nil, nil, nil
		p.Apps = append(p.Apps, *a)
	}
}

func (p *pass) appCircles(names []string) {
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
	for _, circle := range circles(len(names), next) {
		in := make([]string, len(circle))
		for i, v := range circle {
			in[i] = names[v]
		}
		a := p.apps[in[0]]
		c := appCheck{app: a.App}
		c.circleProblem(in)
		p.appProblems(a, c.problems)
	}
}

// appProblems reports what is wrong with an app. Where decoding found a malformed
// value, that it is missing or does not fit needs no second problem.
func (p *pass) appProblems(a *App, problems []AppProblem) {
	whenMalformed := a.malformed["every"] || a.malformed["cron"] || a.malformed["starts"] || a.malformed["depends"]
	for _, x := range problems {
		switch {
		case a.malformed[wholeApp] && x.Check != "app-name":
		case a.malformed[x.Field], x.Check == "app-when" && whenMalformed:
		case x.Check == "app-args" && a.malformed["args"]:
		default:
			p.appProblem(a, x)
		}
	}
}

func (p *pass) appProblem(a *App, x AppProblem) {
	p.add(Problem{
		File: a.File, Line: a.line(x.Field, x.Key), Check: x.Check, Severity: severity(x.Check, p.warn),
		App: a.Name, Message: x.Message,
	})
}

// line returns where a field of the app, or a key in it, stands.
func (a *App) line(field, key string) int {
	if field == "name" {
		return a.Line
	}
	switch line := 0; {
	case key == "":
	case field == "args":
		if line = a.argLines[key]; line != 0 {
			return line
		}
	case field == "depends":
		if line = a.upLines[key]; line != 0 {
			return line
		}
	}
	return a.fields.line(field, a.Line)
}
