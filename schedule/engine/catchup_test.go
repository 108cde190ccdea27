package engine

import (
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/plan"
)

// Periods that were missed run one after the other; those that become due meanwhile are
// skipped, and what was missed is not forgotten over that.
func TestMissedAllRunWithOverlapSkip(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		limit   uint
		fails   bool
		want    []string // by 00:30:30; each takes 2m5s
		skipped uint64
	}{
		// 00:03 to 00:10 are missed. They run from 00:10:30 to 00:27:10.
		{"all", 0, false, []string{"0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010", "0028"}, 17 + 2},
		{"no more than said", 3, false, []string{"0008", "0009", "0010", "0017", "0020", "0023", "0026", "0029"}, 0},
		{"they fail", 0, true, []string{"0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010"}, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				e := w.engine("m1")
				w.put(e, minutely(func(a *proto.App) { a.Missed, a.MissedCap = plan.MissedAll, tc.limit }))
				stop := w.run(e)
				at(2*time.Minute + 30*time.Second)
				stop()
				w.do("tick", func(in proto.Instance) (Outcome, error) {
					out, err := lasts(125 * time.Second)(in)
					if tc.fails && out.Done {
						return fails(in)
					}
					return out, err
				})
				at(10*time.Minute + 30*time.Second)
				w.run(w.engine("m2"))
				at(30*time.Minute + 30*time.Second)
				got := w.ran("tick")[2:]
				for i, name := range tc.want {
					if i >= len(got) || got[i] != "2000-01-01-"+name+"-tick" {
						w.t.Fatalf("ran:\n  %q\nwant\n  %q", got, tc.want)
					}
				}
				if n := w.skippedOf("tick"); tc.skipped > 0 && n != tc.skipped {
					w.t.Errorf("%d periods are recorded as skipped, want %d", n, tc.skipped)
				}
				w.wantSound("tick")
			})
		})
	}
}
