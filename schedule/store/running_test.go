package store

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/proto"
)

func TestRunningInstancesAreCountedByApp(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.toHour(5)
		for _, app := range []string{"a", "b", "c", "d"} {
			f.put(t, hourly(app))
		}
		f.run(t, "a", proto.InstanceSucceeded, 1) // its next one is QUEUED
		for _, app := range []string{"b", "c", "d"} {
			f.claimed(t, app, "m1")
		}
		for _, tt := range []struct {
			after, last string
			want        map[string]int
		}{
			{"", "d", map[string]int{"b": 1, "c": 1, "d": 1}},
			{"b", "c", map[string]int{"c": 1}},
			{"", "a", map[string]int{}},
		} {
			got, err := f.RunningInstances(t.Context(), tt.after, tt.last)
			must(t, err)
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("after %q up to %q (-want +got):\n%s", tt.after, tt.last, d)
			}
		}
	})
}
