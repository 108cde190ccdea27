package ledger

import (
	"fmt"
	"strings"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/plan"
	"github.com/treadle-run/treadle/schedule/store"
)

const reasonNotTaken = "is due, but no Request Manager has looked at it yet"

// whyNot says why a period of an app with times of its own has no instance yet; ""
// if that is not due.
func (l *appLedger) whyNot(p *proto.Period) string {
	switch {
	case l.paused:
		return proto.ReasonPaused
	case p.Due.After(l.now):
		return ""
	}
	var ahead *store.DueInstance // instances are made one after the other
	for i, in := range l.holders {
		if in.Recurring && in.PeriodStart.Before(p.Start) && (ahead == nil || in.PeriodStart.After(ahead.PeriodStart)) {
			ahead = &l.holders[i]
		}
	}
	if ahead == nil {
		return reasonNotTaken
	}
	why := l.waitsFor(ahead.Instance)
	if l.app.Overlap() == plan.OverlapSkip && ahead.StartedAt != nil && p.Due.After(*ahead.StartedAt) {
		why += ", and will be skipped when that ends"
	}
	return why
}

// explainState says why an instance stands where it does.
func (l *appLedger) explainState(in proto.Instance) string {
	switch in.State {
	case proto.InstanceQueued:
		return l.whyQueued(in)
	case proto.InstanceToUndo, proto.InstanceUndoing:
		return l.whyUndoing(in)
	}
	return in.Reason
}

func (l *appLedger) whyQueued(in proto.Instance) string {
	// What it waits for now says more than how it came to be late.
	behind := in.Reason == "" || in.Reason == plan.ReasonQueued || in.Reason == plan.ReasonMissed || strings.HasPrefix(in.Reason, plan.ReasonSlot)
	switch {
	case l.paused:
		return proto.ReasonPaused
	case !behind || in.Due.After(l.now):
		return in.Reason
	}
	if l.app.Overlap() != plan.OverlapAllow {
		for _, x := range l.holders {
			if x.Number == l.activeNumber && x.Number != in.Number {
				return l.waitsFor(x.Instance)
			}
		}
	}
	if in.Reason == "" {
		return reasonNotTaken
	}
	return in.Reason
}

// whyUndoing says how the undo of an instance stands, if that is not the first try.
func (l *appLedger) whyUndoing(in proto.Instance) string {
	parts := []string{in.Reason}
	if in.Reason == "" {
		parts = nil
	}
	for _, x := range l.holders {
		if x.Number != in.Number {
			continue
		}
		switch {
		case x.State == proto.InstanceUndoing:
			parts = append(parts, "its undo runs")
		case x.UndoTries > 0 && !x.FetchAt.IsZero():
			parts = append(parts, "the next try is at "+stamp(x.FetchAt))
		}
	}
	return strings.Join(parts, "; ")
}

func (l *appLedger) waitsFor(in proto.Instance) string {
	why := l.explainState(in)
	if why == "" {
		return fmt.Sprintf("waits for %s (%s)", in.Name, in.State)
	}
	return fmt.Sprintf("waits for %s (%s: %s)", in.Name, in.State, why)
}
