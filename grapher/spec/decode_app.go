package spec

import (
	"math"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/treadle-run/treadle/grapher/problem"
	"github.com/treadle-run/treadle/proto"
)

func (d *decoder) decodeApps(n *yaml.Node) {
	twice := func(e entry, first int) {
		d.app = e.key
		d.report("duplicate-app", e.line, "the app is defined here and also at %s:%d", d.name, first)
		d.app = ""
	}
	for _, e := range d.entriesOnce(n, "`apps`", twice) {
		d.app = e.key
		a := &App{App: proto.App{Name: e.key}, Pos: Pos{d.name, e.line}, malformed: map[string]bool{}}
		if isNull(e.value) {
			d.report("wrong-type", e.line, "the app is null: it needs `request`, and one of `every`, `cron`, `starts`, `depends`")
			a.malformed[WholeApp] = true
		} else {
			a.malformed[WholeApp] = deref(e.value).Kind != yaml.MappingNode
			a.fields = decodeFields(d, e.value, appFields, "an app", a)
		}
		d.apps = append(d.apps, a) // even if it is null: others may depend on it
		d.app = ""
	}
}

var appFields = []field[App]{
	{"request", func(d *decoder, e entry, a *App) { a.Request = d.appText(e, a) }},
	{"args", func(d *decoder, e entry, a *App) { d.appArgs(e, a) }},
	{"every", func(d *decoder, e entry, a *App) { a.Every = proto.Duration(d.appDuration(e, a)) }},
	{"cron", func(d *decoder, e entry, a *App) { a.Cron = d.appText(e, a) }},
	{"starts", func(d *decoder, e entry, a *App) { a.Starts = d.appText(e, a) }},
	{"depends", func(d *decoder, e entry, a *App) { d.appDepends(e, a) }},
	{"timezone", func(d *decoder, e entry, a *App) { a.Timezone = d.appText(e, a) }},
	{"host", func(d *decoder, e entry, a *App) { a.Host = d.appText(e, a) }},
	{"timeout", func(d *decoder, e entry, a *App) { a.Timeout = d.appDuration(e, a) }},
	{"deadline", func(d *decoder, e entry, a *App) { a.Deadline = d.appDuration(e, a) }},
	{"undo", func(d *decoder, e entry, a *App) { a.Undo = d.appText(e, a) }},
	{"failureDelay", func(d *decoder, e entry, a *App) { a.FailureDelay = d.appDuration(e, a) }},
	{"missed", func(d *decoder, e entry, a *App) { a.Missed = d.appText(e, a) }},
	{"missedCap", func(d *decoder, e entry, a *App) { d.appMissedCap(e, a) }},
	{"overlap", func(d *decoder, e entry, a *App) { a.Overlap = d.appText(e, a) }},
	{"jitter", func(d *decoder, e entry, a *App) { a.Jitter = d.appDuration(e, a) }},
	{"gap", func(d *decoder, e entry, a *App) { a.Gap = d.appText(e, a) }},
	{"fold", func(d *decoder, e entry, a *App) { a.Fold = d.appText(e, a) }},
}

func (d *decoder) appText(e entry, a *App) string {
	n := deref(e.value)
	a.malformed[e.key] = n.Kind != yaml.ScalarNode || !plainTag(n)
	return d.text(e)
}

func (d *decoder) appArgs(e entry, a *App) {
	entries := d.entries(e.value, "`args` of an app")
	a.Args, a.argLines = make(proto.Values, len(entries)), make(map[string]int, len(entries))
	for _, arg := range entries {
		x, err := d.value(arg.value)
		if err != nil {
			d.report("wrong-type", arg.line, "arg %s: %s", problem.Quote(arg.key), err)
			a.malformed[e.key] = true
			continue
		}
		a.Args[arg.key], a.argLines[arg.key] = x, arg.line
	}
	a.malformed[e.key] = a.malformed[e.key] || deref(e.value).Kind != yaml.MappingNode
}

func (d *decoder) appDepends(e entry, a *App) {
	entries := d.entries(e.value, "`depends`")
	a.Depends, a.upLines = make(map[string]string, len(entries)), make(map[string]int, len(entries))
	for _, up := range entries {
		n := deref(up.value)
		if n.Kind != yaml.ScalarNode || isNull(n) || !plainTag(n) {
			d.report("wrong-type", up.line, "%s must be a period such as hourly, not %s", problem.Quote(up.key), describe(n))
			a.malformed[e.key] = true
			continue
		}
		a.Depends[up.key], a.upLines[up.key] = intern(n.Value), up.line
	}
	a.malformed[e.key] = a.malformed[e.key] || deref(e.value).Kind != yaml.MappingNode
}

// appDuration returns a length of time: as Go writes it, or a number of seconds.
// Negative ones are for check.App; 0 is not, since an app without the field looks the
// same.
func (d *decoder) appDuration(e entry, a *App) proto.Seconds {
	n := deref(e.value)
	a.malformed[e.key] = true
	if n.Kind != yaml.ScalarNode {
		d.wrongType(e, "a duration such as 30s, or a number of seconds")
		return 0
	}
	t, err := time.ParseDuration(n.Value)
	if tag := n.ShortTag(); err != nil && (tag == "!!int" || tag == "!!float") {
		var seconds float64
		if err = n.Decode(&seconds); err == nil && math.Abs(seconds) < math.MaxInt64/float64(time.Second) {
			t = time.Duration(math.Round(seconds * float64(time.Second)))
		} else {
			d.report("app-duration", e.line, "%s is %s seconds, which is too long", problem.Quote(e.key), problem.Quote(n.Value))
			return 0
		}
	}
	switch {
	case err != nil:
		d.report("app-duration", e.line, "%s is %s, which is not a duration: write a number of seconds, or one with a unit such as 90s, 5m or 1h30m", problem.Quote(e.key), problem.Quote(n.Value))
	case t == 0:
		d.report("app-duration", e.line, "%s must be more than 0; leave it out for none", problem.Quote(e.key))
	default:
		a.malformed[e.key] = false
	}
	return proto.Seconds(t)
}

func (d *decoder) appMissedCap(e entry, a *App) {
	n, ok := d.integer(e)
	if ok && n <= 0 {
		d.report("app-policy", e.line, "`missedCap` must be more than 0, not %d", n)
	}
	if !ok || n <= 0 {
		a.malformed[e.key] = true
		return
	}
	a.MissedCap = uint(n)
}
