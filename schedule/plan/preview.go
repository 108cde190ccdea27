package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// maxPreview is how many times are shown.
const maxPreview = 1000

// Preview returns the next n (10 if 0, at most 1,000) times of an app after now. The
// error has CodeInvalid: the app has no calendar.
func Preview(app proto.App, now time.Time, n int) ([]proto.NextTime, error) {
	a, err := Compile(app, time.Time{}, 0)
	if err != nil {
		return nil, err
	}
	out := []proto.NextTime{}
	o, ok := a.First(now)
	for range min(cmp.Or(max(n, 0), 10), maxPreview) {
		if !ok {
			break
		}
		t := proto.NextTime{Name: a.Calendar.Name(o.Start, app.Name), Start: o.Start, End: o.End, Due: a.DueAt(o.Start), Why: o.Why}
		if !a.Recurring() {
			t.Why = strings.TrimPrefix(t.Why+"; starts when all of it is done of "+
				strings.Join(slices.Sorted(maps.Keys(app.Depends)), ", "), "; ")
		}
		out = append(out, t)
		o, ok = a.Calendar.Next(o.Start)
	}
	return out, nil
}
