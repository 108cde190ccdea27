package requests

import (
	"testing"

	"github.com/treadle-run/treadle/proto"
)

func TestWaitSaysWhatRunsNow(t *testing.T) {
	t.Parallel()
	r := proto.Request{State: proto.StateRunning, FinishedJobs: 1, TotalJobs: 9}
	for _, tt := range []struct {
		running []string
		want    string
	}{
		{nil, "RUNNING 1/9 jobs"},
		{[]string{"a"}, "RUNNING 1/9 jobs, now: a"},
		{[]string{"a", "b", "c"}, "RUNNING 1/9 jobs, now: a, b, c"},
		{[]string{"a", "b", "c", "d", "e"}, "RUNNING 1/9 jobs, now: a, b, c and 2 more"},
	} {
		if got := line(r, tt.running); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
