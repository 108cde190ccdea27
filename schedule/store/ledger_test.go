package store

import (
	"slices"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// Periods are found newest first, each once, whether what ran in them is live or not.
func TestPeriodStarts(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.put(t, hourly("a"))
		f.toHour(5)
		_, err := f.ExtraInstances(t.Context(), "a", []NewInstance{period("a", -3), period("a", -2)}, false)
		must(t, err)
		f.claimed(t, "a", "m1")
		for limit, want := range map[int]int{1: 1, 2: 2, 10: 3} {
			got, err := f.PeriodStarts(t.Context(), "a", hour(-10), hour(10), limit)
			must(t, err)
			if len(got) != want || !slices.IsSortedFunc(got, func(a, b time.Time) int { return b.Compare(a) }) {
				t.Errorf("the newest %d: %v", limit, got)
			}
		}
		got, err := f.PeriodStarts(t.Context(), "a", hour(-3), hour(-2), 10)
		must(t, err)
		if len(got) != 1 || !got[0].Equal(hour(-3)) {
			t.Errorf("in one hour: %v", got)
		}
		list, err := f.Holders(t.Context(), "a", 10)
		must(t, err)
		if len(list) != 2 || list[0].State != proto.InstanceRunning || !list[0].FetchAt.IsZero() ||
			list[1].State != proto.InstanceQueued || !list[1].Recurring || !list[1].FetchAt.Equal(hour(0)) {
			t.Errorf("what holds up others: %+v", list)
		}
		for name, q := range map[string]*database.Query{
			"live starts":     f.startsQuery(false, "a", hour(0), hour(24), 100),
			"archived starts": f.startsQuery(true, "a", hour(0), hour(24), 100),
			"holders":         f.holdersQuery("a", 100),
		} {
			for _, bad := range f.badScheduleSteps(t, q) {
				t.Errorf("%s: %s\n%s", name, bad, q.SQL.String())
			}
		}
	})
}
