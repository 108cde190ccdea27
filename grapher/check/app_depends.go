package check

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/grapher/problem"
	"github.com/treadle-run/treadle/proto"
)

// depends checks the upstream apps and the period that is asked of them.
func (c *appCheck) depends() {
	ups := slices.Sorted(maps.Keys(c.app.Depends))
	for i, up := range ups {
		period := c.app.Depends[up]
		if first := c.app.Depends[ups[0]]; period != first {
			c.keyProblem("depends", up, "app-period", "%s is asked for its %s period and %s for its %s one: all upstream apps of an app must have the same",
				problem.Quote(ups[0]), problem.Quote(first), problem.Quote(up), problem.Quote(period))
			continue
		}
		if up == c.app.Name {
			continue // a cycle
		}
		upstream, ok := c.others[up]
		if !ok {
			c.keyProblem("depends", up, "app-depends", "unknown app %s%s", problem.Quote(up), c.meantApp(up))
		}
		if _, err := calendar.NewPeriod(period, ""); err != nil {
			if i == 0 {
				c.keyProblem("depends", up, "app-period", "%s: %s%s", problem.Quote(up), err, c.suggest.Meant(period, calendar.Periods()))
			}
			continue
		}
		if !ok {
			continue
		}
		if wrong := misfit(period, upstream); wrong != "" {
			c.keyProblem("depends", up, "app-period", "%s", wrong)
		}
	}
}

func (c *appCheck) meantApp(name string) string {
	if !c.suggest.CanCompare(len(c.others)) {
		return ""
	}
	names := slices.Collect(maps.Keys(c.others))
	return c.suggest.Meant(name, slices.DeleteFunc(names, func(n string) bool { return n == c.app.Name }))
}

// dependents reports that apps which depend on this one ask for periods that it no
// longer makes up.
func (c *appCheck) dependents() {
	found := 0
	for _, name := range slices.Sorted(maps.Keys(c.others)) {
		period, ok := c.others[name].Depends[c.app.Name]
		if !ok || name == c.app.Name {
			continue
		}
		wrong := misfit(period, c.app)
		if wrong == "" {
			continue
		}
		if found++; found <= proto.MaxNames {
			c.problem(c.whenField(), "app-period", "app %s depends on it: %s", problem.Quote(name), wrong)
		}
	}
	if more := found - proto.MaxNames; more > 0 {
		c.problem(c.whenField(), "app-period", "the same holds for %d more apps that depend on it", more)
	}
}

// whenField returns the field that says when the app starts.
func (c *appCheck) whenField() string {
	switch {
	case c.app.Every != 0:
		return "every"
	case c.app.Cron != "":
		return "cron"
	case c.app.Starts != "":
		return "starts"
	}
	return "depends"
}

// cadence is how often an app starts, as far as it matters for what depends on it.
type cadence struct {
	words string        // for messages
	least time.Duration // between two starts
	grid  bool          // the starts are a grid, and least is its step
	named bool          // the starts are those of a calendar period
}

// cadenceOf returns the cadence of an app, and false if the app itself is wrong.
func cadenceOf(a proto.App) (cadence, bool) {
	words := ""
	for _, period := range a.Depends {
		words = period
		a = proto.App{Starts: period}
		if !calendar.IsPeriod(period) {
			d, err := time.ParseDuration(period)
			if err != nil {
				return cadence{}, false
			}
			a = proto.App{Every: proto.Duration(d)}
		}
	}
	cal, err := calendar.New(a)
	if err != nil {
		return cadence{}, false
	}
	switch least := cal.Shortest(); {
	case strings.HasPrefix(a.Cron, "@every "):
		return cadence{words: a.Cron, least: least, grid: true}, true
	case a.Starts != "":
		return cadence{words: a.Starts, least: least, named: true}, true
	case a.Cron != "":
		return cadence{words: "by the cron " + problem.Quote(a.Cron), least: least}, true
	case words != "":
		return cadence{words: "for each " + words, least: least, grid: true}, true
	default:
		return cadence{words: "every " + a.Every.String(), least: least, grid: true}, true
	}
}

// lengths are the lengths that calendar periods are made of: a grid that divides them
// has all its starts wholly within one period.
var lengths = map[string]time.Duration{
	"minutely": time.Minute, "hourly": time.Hour, "daily": 24 * time.Hour, "weekly": 7 * 24 * time.Hour,
	"monthly": 24 * time.Hour, "yearly": 24 * time.Hour,
}

// misfit says why the instances of an upstream app do not make up periods; "" if they
// do.
func misfit(period string, upstream proto.App) string {
	up, ok := cadenceOf(upstream)
	if !ok {
		return "" // said where the upstream app is
	}
	asked, err := cadenceOfPeriod(period)
	if err != nil {
		return ""
	}
	name := problem.Quote(upstream.Name)
	switch {
	case asked.least < up.least:
		return "the period " + problem.Quote(period) + " is finer than that of " + name + ", which starts " + up.words
	case up.grid && asked.named && lengths[period]%up.least != 0:
		return "the period " + problem.Quote(period) + " cannot be made up of instances of " + name + ", which starts " + up.words + ": " +
			up.least.String() + " does not divide " + lengths[period].String()
	case up.grid && asked.grid && asked.least%up.least != 0:
		return "the period " + problem.Quote(period) + " cannot be made up of instances of " + name + ", which starts " + up.words + ": it is no multiple of that"
	case up.named && asked.grid && lengths[up.words] < 24*time.Hour && asked.least%lengths[up.words] != 0,
		up.named && asked.grid && lengths[up.words] >= 24*time.Hour:
		return "the period " + problem.Quote(period) + " cannot be made up of instances of " + name + ", which starts " + up.words + ": write one of a calendar"
	}
	return ""
}

func cadenceOfPeriod(period string) (cadence, error) {
	cal, err := calendar.NewPeriod(period, "")
	if err != nil {
		return cadence{}, err
	}
	named := calendar.IsPeriod(period)
	return cadence{words: period, least: cal.Shortest(), named: named, grid: !named}, nil
}

// cycle reports that the app depends on itself, by way of others.
func (c *appCheck) cycle() {
	if len(c.app.Depends) == 0 {
		return
	}
	// A search from the upstream apps back to the app, deepest first, each once.
	cameFrom := map[string]string{}
	var todo []string
	push := func(from string, ups map[string]string) {
		for _, up := range slices.Sorted(maps.Keys(ups)) {
			if _, seen := cameFrom[up]; !seen {
				cameFrom[up] = from
				todo = append(todo, up)
			}
		}
	}
	push(c.app.Name, c.app.Depends)
	for len(todo) > 0 {
		name := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if name != c.app.Name {
			push(name, c.others[name].Depends)
			continue
		}
		var names []string
		for at := cameFrom[name]; at != name; at = cameFrom[at] {
			names = append(names, at)
		}
		names = append(names, name)
		slices.Reverse(names)
		c.cycleProblem(names)
		return
	}
}

// cycleProblem reports a cycle that starts at the app.
func (c *appCheck) cycleProblem(names []string) {
	up := names[1%len(names)]
	c.keyProblem("depends", up, "app-cycle", "apps depend on each other in a cycle: %s", showCycle(names))
}
