package request

import (
	"strings"
	"testing"

	"github.com/treadle-run/treadle/proto"
)

// A runner that ends stops its jobs and hands the chain back. One that must not run
// twice would, if somebody went on with it.
func TestAChainIsNotResumedInAJobThatMustNotRunTwice(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of     proto.State // the job that must not run twice
		other  proto.State
		wanted bool
	}{
		"it was cut off":      {proto.StateStopped, proto.StateComplete, true},
		"another was cut off": {proto.StateComplete, proto.StateStopped, false},
		"it had not started":  {proto.StatePending, proto.StateStopped, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			item := proto.ReportItem{Reason: "the job runner is shutting down", Suspended: &proto.SuspendedJobChain{
				JobChain: &proto.JobChain{Jobs: map[string]*proto.Job{
					"pay-1":  {ID: "pay-1", Name: "pay", NotIdempotent: true, State: c.of},
					"mail-2": {ID: "mail-2", Name: "mail", State: c.other},
				}},
			}}
			failInterrupted(&item)
			if failed := item.Final == proto.StateFail && item.Suspended == nil; failed != c.wanted {
				t.Errorf("failed: %v, want %v", failed, c.wanted)
			}
			if c.wanted && (!strings.HasPrefix(item.Reason, "the job runner is shutting down") ||
				!strings.Contains(item.Reason, "(idempotent: false): pay (pay-1)")) {
				t.Errorf("reason %q", item.Reason)
			}
		})
	}
}
