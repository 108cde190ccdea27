package check

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/treadle-run/treadle/calendar"
	"github.com/treadle-run/treadle/grapher/problem"
	"github.com/treadle-run/treadle/grapher/spec"
	"github.com/treadle-run/treadle/proto"
)

// AppProblem is something that is wrong with an app.
type AppProblem struct {
	Field   string // as in JSON, such as "cron"; "name" for the app itself
	Key     string // the arg or the upstream app, if one of them is meant
	Check   string
	Message string // what is wrong, and what would be right; it names the field
}

// AutoArgs are the args that each instance gives to its request, if that declares them
// and the app does not give them itself: what the upstream instances put out, the name
// of the instance, and where its period starts and ends.
var AutoArgs = []string{"conf", "instance", "periodStart", "periodEnd"}

// autoTypes are the types of the AutoArgs.
var autoTypes = map[string]string{"conf": "object", "instance": "string", "periodStart": "string", "periodEnd": "string"}

// App returns the errors of an app, without warnings; others has all other apps by name. It is the
// same check for apps in spec files and for those that come over the API.
func App(sequences spec.Sequences, a proto.App, others map[string]proto.App) []AppProblem {
	c := appCheck{sequences: sequences, app: a, others: others, suggest: problem.NewSuggester()}
	c.run()
	c.cycle()
	c.dependents()
	return slices.DeleteFunc(c.problems, func(p AppProblem) bool { return Severity(p.Check, nil) == problem.Warning })
}

// appCheck is the check of one app.
type appCheck struct {
	sequences spec.Sequences
	app       proto.App
	others    map[string]proto.App
	suggest   *problem.Suggester
	problems  []AppProblem
}

func (c *appCheck) problem(field, check, format string, args ...any) {
	c.keyProblem(field, "", check, format, args...)
}

func (c *appCheck) keyProblem(field, key, check, format string, args ...any) {
	c.problems = append(c.problems, AppProblem{Field: field, Key: key, Check: check, Message: fmt.Sprintf(format, args...)})
}

// run makes all checks that can be made app by app.
func (c *appCheck) run() {
	c.name()
	c.request()
	c.undo()
	c.host()
	c.durations()
	c.policies()
	if c.when() {
		c.calendar()
		c.depends()
	}
}

func (c *appCheck) name() {
	if err := proto.CheckAppName(c.app.Name); err != nil {
		c.problem("name", "app-name", "the name of an app %v%s", err, shown(c.app.Name))
	}
}

// shown returns ": `x`" for a name x that is not empty.
func shown(name string) string {
	if name == "" {
		return ""
	}
	return ": " + problem.Quote(name)
}

func (c *appCheck) request() {
	if c.app.Request == "" {
		c.problem("request", "app-request", "the app has no `request`")
		return
	}
	seq := c.find("request", c.app.Request)
	if seq == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.app.Args)) {
		c.arg(seq, name, c.app.Args[name], true)
	}
	c.missingArgs("request", seq)
}

func (c *appCheck) undo() {
	if c.app.Undo == "" {
		return
	}
	seq := c.find("undo", c.app.Undo)
	if seq == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(c.app.Args)) {
		if _, ok := seq.Arg(name); ok { // it is given what it takes, the rest is not its own
			c.arg(seq, name, c.app.Args[name], false)
		}
	}
	c.missingArgs("undo", seq)
}

// find returns the request that a field names, nil if there is none.
func (c *appCheck) find(field, name string) *spec.Sequence {
	seq, ok := c.sequences[name]
	switch {
	case !ok:
		c.problem(field, "app-request", "`%s` is %s, but no request has that name%s", field, problem.Quote(name), c.suggest.Meant(name, c.sequences.RequestTypes()))
		return nil
	case !seq.Request:
		c.problem(field, "app-request", "`%s` is %s, which is not a request: set `request: true` in it", field, problem.Quote(name))
		return nil
	}
	return seq
}

// arg checks a value that the app gives to a request. Own says that the request is
// the one of the app and not its undo.
func (c *appCheck) arg(seq *spec.Sequence, name string, value any, own bool) {
	bad := func(format string, args ...any) {
		c.keyProblem("args", name, "app-args", "arg %s of request %s %s", problem.Quote(name), problem.Quote(seq.Name), fmt.Sprintf(format, args...))
	}
	a, ok := seq.Arg(name)
	switch {
	case !ok:
		known := argNames([]*spec.Sequence{seq})
		hint := c.suggest.Meant(name, known)
		switch {
		case hint != "":
		case len(known) == 0:
			hint = ": the request takes no args"
		default:
			hint = ": the request takes " + problem.QuoteAll(known)
		}
		bad("is unknown%s", hint)
	case slices.Contains(seq.Args.Static, a):
		if own {
			bad("is static: it cannot be given")
		}
	case a.Secret:
		bad("is secret: anyone who may see the app would see the value")
	case value == nil:
		bad("is null: give it a value, or leave it out")
	default:
		if _, err := a.Accept(value); err != nil {
			bad("%s", err)
		}
	}
}

// missingArgs reports required args that nobody gives, and those that instances give
// with a value of another type.
func (c *appCheck) missingArgs(field string, seq *spec.Sequence) {
	for _, a := range slices.Concat(seq.Args.Required, seq.Args.Optional) {
		if _, ok := c.app.Args[a.Name]; ok {
			continue
		}
		typ, auto := autoTypes[a.Name]
		switch {
		case auto && a.Type != "" && a.Type != typ:
			c.problem(field, "app-args", "instances give arg %s of request %s as %s, and its type is %s", problem.Quote(a.Name), problem.Quote(seq.Name), spec.TypePhrase(typ), a.Type)
		case auto || !slices.Contains(seq.Args.Required, a):
		case a.Secret:
			c.problem(field, "app-args", "request %s requires arg %s, which is secret: an app cannot give it", problem.Quote(seq.Name), problem.Quote(a.Name))
		default:
			c.problem(field, "app-args", "request %s requires arg %s, and the app does not give it", problem.Quote(seq.Name), problem.Quote(a.Name))
		}
	}
}

func (c *appCheck) host() {
	if err := proto.CheckHost(c.app.Host); err != nil {
		c.problem("host", "app-host", "`host` %v%s", err, shown(c.app.Host))
	}
}

func (c *appCheck) durations() {
	for _, d := range []struct {
		field string
		value proto.Seconds
	}{
		{"timeout", c.app.Timeout}, {"deadline", c.app.Deadline}, {"failureDelay", c.app.FailureDelay}, {"jitter", c.app.Jitter},
	} {
		if d.value < 0 {
			c.problem(d.field, "app-duration", "`%s` is negative: %s", d.field, time.Duration(d.value))
		}
	}
}

// The choices of `missed` and `overlap`.
var (
	missedChoices  = []string{"none", "last", "all"}
	overlapChoices = []string{"skip", "queue", "allow"}
)

func (c *appCheck) policies() {
	a := c.app
	c.choice("missed", a.Missed, missedChoices)
	c.choice("overlap", a.Overlap, overlapChoices)
	c.choice("gap", a.Gap, []string{calendar.GapAfter, calendar.GapSkip})
	c.choice("fold", a.Fold, []string{calendar.FoldFirst, calendar.FoldSecond, calendar.FoldBoth})
	if a.MissedCap > proto.MaxMissedCap {
		c.problem("missedCap", "app-policy", "`missedCap` may be %d, not %d", proto.MaxMissedCap, a.MissedCap)
	}
	if a.MissedCap > 0 && a.Missed != "all" && (a.Missed != "" || a.Starts == "") {
		c.problem("missedCap", "app-policy", "`missedCap` limits `missed: all` and has no effect without it")
	}
	for _, x := range []struct{ field, value string }{{"gap", a.Gap}, {"fold", a.Fold}} {
		if x.value != "" && a.Cron == "" && a.Starts == "" {
			c.problem(x.field, "app-policy", "`%s` applies to times of day: it has no effect without `cron` or `starts`", x.field)
		}
	}
	if len(a.Depends) == 0 {
		return
	}
	if a.Overlap == "skip" {
		c.problem("overlap", "app-policy", "`overlap` cannot be skip with `depends`: a period whose upstream apps are done would be lost")
	}
	if a.Missed != "" {
		c.problem("missed", "app-policy", "`missed` has no effect with `depends`: an instance is made when its upstream apps are done, whenever that is")
	}
}

func (c *appCheck) choice(field, value string, choices []string) {
	if value == "" || slices.Contains(choices, value) {
		return
	}
	meant := c.suggest.Meant(value, choices)
	if meant == "" {
		meant = ": it can be " + problem.QuoteAll(choices)
	}
	c.problem(field, "app-policy", "`%s` cannot be %s%s", field, problem.Quote(value), meant)
}

// when reports whether the app says in exactly one way when it starts.
func (c *appCheck) when() bool {
	var said []string
	for _, w := range []struct {
		field string
		is    bool
	}{
		{"every", c.app.Every != 0}, {"cron", c.app.Cron != ""}, {"starts", c.app.Starts != ""}, {"depends", len(c.app.Depends) > 0},
	} {
		if w.is {
			said = append(said, w.field)
		}
	}
	switch len(said) {
	case 0:
		c.problem("name", "app-when", "the app does not say when it starts: give one of `every`, `cron`, `starts`, `depends`")
	case 1:
	default:
		c.problem(said[len(said)-1], "app-when", "the app has %s: only one of them can say when it starts", strings.ReplaceAll(problem.QuoteAll(said), ", ", " and "))
	}
	return len(said) == 1
}

// calendar checks what makes the times, and what depends on how far they are apart.
func (c *appCheck) calendar() {
	cal, err := calendar.New(c.app)
	if err != nil {
		c.fieldError(err)
		return
	}
	if calendar.BothDays(c.app.Cron) {
		c.problem("cron", "app-days", "`cron` is %s: the day of month and the day of week must both match, because one of them starts with `*`; with a range such as 1-31/2 instead, either would do",
			problem.Quote(c.app.Cron))
	}
	if jitter := time.Duration(c.app.Jitter); jitter > 0 && jitter >= cal.Shortest() {
		c.problem("jitter", "app-duration", "`jitter` is %s, and must be less than the time between two starts, %s", jitter, cal.Shortest())
	}
}

// calendarChecks has the check for each field that can make no calendar.
var calendarChecks = map[string]string{
	"every": "app-duration", "cron": "app-cron", "starts": "app-period", "timezone": "app-zone", "gap": "app-policy", "fold": "app-policy",
}

// fieldError reports an error of the calendar. Those of `depends` have a check of
// their own, which names the upstream app; so have those of choices.
func (c *appCheck) fieldError(err error) {
	e, ok := errors.AsType[*calendar.FieldError](err)
	switch {
	case !ok:
		c.problem("name", "app-when", "the app has no times: %v", err)
	case e.Field == "depends":
	case e.Field == "timezone":
		c.problem(e.Field, "app-zone", "%s%s", e, c.suggest.Meant(c.app.Timezone, calendar.Zones()))
	case e.Field == "starts":
		c.problem(e.Field, "app-period", "%s%s", e, c.suggest.Meant(c.app.Starts, calendar.Periods()))
	case e.Never:
		c.problem(e.Field, "app-never", "%s", e)
	case slices.ContainsFunc(c.problems, func(p AppProblem) bool { return p.Field == e.Field }):
	default:
		c.problem(e.Field, calendarChecks[e.Field], "%s", e)
	}
}
