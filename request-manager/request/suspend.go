package request

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/treadle-run/treadle/chain"
	"github.com/treadle-run/treadle/proto"
)

// SuspendReport accepts a suspended job chain that its runner hands back: it is
// stored and its request made SUSPENDED, in one transaction.
func (m *Manager) SuspendReport(ctx context.Context, epoch uint64, sjc *proto.SuspendedJobChain) error {
	item := proto.ReportItem{RequestID: sjc.RequestID, Epoch: epoch, Suspended: sjc}
	if sjc.JobChain != nil {
		item.FinishedJobs = sjc.JobChain.FinishedJobs
	}
	return m.reporter.saveOne(ctx, item)
}

// failInterrupted makes a FAIL of a chain that is handed back although jobs in it
// that must not run twice were interrupted: to resume it would run them again.
func failInterrupted(item *proto.ReportItem) {
	if item.Suspended == nil {
		return
	}
	var names []string
	for _, j := range item.Suspended.JobChain.Jobs {
		if j.NotIdempotent && j.State == proto.StateStopped {
			names = append(names, j.Name+" ("+j.ID+")")
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	why := item.Reason
	if why == "" {
		why = "its job runner handed it back"
	}
	item.Suspended, item.Final = nil, proto.StateFail
	item.Reason = fmt.Sprintf("%s and cut off jobs that must not run twice (idempotent: false): %s", why, strings.Join(names, ", "))
}

// notIdempotent returns the names of jobs that may have been running and must
// not run again. The chain is not changed: what may start now is asked of a copy.
// It has no limits of parallel groups: which members ran is not known for sure.
func notIdempotent(c *chain.Chain) ([]string, error) {
	sjc := c.Suspended()
	risky := false
	for _, j := range sjc.JobChain.Jobs {
		risky = risky || j.NotIdempotent
	}
	if !risky {
		return nil, nil
	}
	jc := *sjc.JobChain
	jc.Parallel = make(map[string]uint, len(jc.Parallel))
	for group := range sjc.JobChain.Parallel {
		jc.Parallel[group] = uint(len(jc.Jobs)) + 1
	}
	unlimited := *sjc
	unlimited.JobChain = &jc
	copied, err := chain.Resume(&unlimited)
	if err != nil {
		return nil, brokenChain(sjc.RequestID, err)
	}
	var names []string
	for _, s := range copied.Next(time.Now()) {
		if s.Job.NotIdempotent {
			names = append(names, s.Job.Name+" ("+s.Job.ID+")")
		}
	}
	return names, nil
}
