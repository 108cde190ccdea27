package audit

import (
	"fmt"
	"strings"
)

// checkWorks compares what clients were told with what is stored.
func (a *Audit) checkWorks() {
	byTag := map[string][]*request{}
	for _, r := range a.requests {
		byTag[r.tag] = append(byTag[r.tag], r)
	}
	for _, odd := range a.asked.Odd {
		a.violation("answers", nil, "%s", odd)
	}
	known := map[string]bool{}
	for _, w := range a.asked.Works {
		known[w.Key] = true
		a.figures.Submits += w.Submits
		if len(w.IDs) > 0 {
			a.figures.Accepted++
		}
		if n := len(byTag[w.Key]); n > 1 {
			a.violation("one request for one key", byTag[w.Key][0], "%d requests have the key %s", n, w.Key)
		}
		if len(w.IDs) > 1 {
			a.violation("one request for one key", nil, "the key %s was accepted as %v", w.Key, w.IDs)
		}
		for _, id := range w.IDs {
			r := a.requests[id]
			if r == nil || r.tag != w.Key {
				a.violation("accepted requests are not lost", nil, "the key %s was accepted as %s, which is not there", w.Key, id)
				continue
			}
			a.checkOutcome(w, r)
		}
	}
	for tag, rs := range byTag {
		if !known[tag] {
			a.violation("one request for one key", rs[0], "nobody asked for the key %s", tag)
		}
	}
}

// checkOutcome compares how a request ended with how it had to end. Faults change
// nothing of that.
func (a *Audit) checkOutcome(w Work, r *request) {
	want := stateComplete
	if r.kind == "bad" {
		want = stateFail
	}
	notTwice := r.kind == "once" && r.state == stateFail && strings.Contains(r.reason, "idempotent")
	switch {
	case r.state == want && !w.Stopped, notTwice && !w.Stopped:
	case r.state == stateStopped && (w.Asked || w.Stopped):
	case r.state != stateComplete && r.state != stateFail && r.state != stateStopped:
		a.violation("every accepted request ends", r, "it is %s", stateName(r.state))
	default:
		a.violation("outcome", r, "it is %s (%s); stop asked for: %v, accepted: %v", stateName(r.state), r.reason, w.Asked, w.Stopped)
	}
}

// checkRequest checks one request by itself.
func (a *Audit) checkRequest(r *request) {
	if r.stopAsked && r.state != stateStopped {
		a.violation("a stop is for good", r, "a stop is on record and it is %s", stateName(r.state))
	}
	a.checkLog(r)
	a.checkFinished(r)
	a.checkTries(r)
	a.checkOverlap(r)
	a.checkAgain(r)
	a.checkOrder(r)
	for _, l := range r.trace {
		if l.what == 'D' {
			a.violation("job data arrives", r, "%s", l)
		}
		if r.finished.Valid && l.at > r.finished.Int64*1000 {
			a.violation("nothing runs after the end", r, "%s", l)
		}
	}
}

// checkLog checks that entries stand in one order and that no try ended twice.
func (a *Audit) checkLog(r *request) {
	seen := map[tryID]bool{}
	for i, e := range r.log {
		if e.seq != uint64(i) {
			a.violation("the log has no gaps", r, "entry %d stands at place %d", e.seq, i)
			return
		}
		if e.id.epoch > r.epoch || i > 0 && e.id.epoch < r.log[i-1].id.epoch {
			a.violation("epochs only grow", r, "%s", e)
		}
		if seen[e.id] {
			a.violation("a try ends once", r, "%s", e)
		}
		seen[e.id] = true
	}
}

// inAgain reports whether a job belongs to the sequence that starts again.
func inAgain(r *request, name string) bool { return r.kind == "again" && strings.HasPrefix(name, "s") }

// lastRun returns the last run of the sequence that starts again, and whether it
// has failed.
func lastRun(r *request) (run uint64, failed bool) {
	for _, e := range r.log {
		if !inAgain(r, e.name) {
			continue
		}
		if e.run > run {
			run, failed = e.run, false
		}
		failed = failed || e.run == run && e.state == stateFail
	}
	return run, failed
}

// checkFinished compares the count of the request with its log.
func (a *Audit) checkFinished(r *request) {
	run, failed := lastRun(r)
	outside, inside := map[string]int{}, map[string]int{}
	for _, e := range r.log {
		switch {
		case e.state != stateComplete:
		case !inAgain(r, e.name):
			outside[e.id.job]++
		case e.run == run:
			inside[e.id.job]++
		}
	}
	for job, n := range outside {
		if n != 1 {
			a.violation("a job is COMPLETE once", r, "job %s has %d COMPLETE entries", job, n)
		}
	}
	for job, n := range inside {
		if n != 1 {
			a.violation("a job is COMPLETE once", r, "job %s has %d COMPLETE entries in run %d", job, n, run)
		}
	}
	n := len(outside) + len(inside)
	// When the sequence has just failed, it may have begun again with nothing done.
	if r.done != n && (!failed || r.done != len(outside)) {
		a.violation("finished counts equal the log", r, "finished_jobs is %d, the log has %d", r.done, n)
	}
	if r.state == stateComplete && (n != r.total || r.done != r.total) {
		a.violation("a COMPLETE request is complete", r, "%d of %d jobs are COMPLETE in the log", n, r.total)
	}
}

// checkTries compares entries with traces: who is COMPLETE ran to its end, and who
// failed is one that fails.
func (a *Audit) checkTries(r *request) {
	begins, ends := map[tryID]int{}, map[tryID]string{}
	for _, l := range r.trace {
		switch l.what {
		case 'B':
			if begins[l.try]++; begins[l.try] > 1 {
				a.violation("a try begins once", r, "%s", l)
			}
		case 'E':
			ends[l.try] = l.text
		}
	}
	for _, e := range r.log {
		switch end := ends[e.id]; {
		case e.state == stateComplete && (begins[e.id] == 0 || end != "0"):
			a.violation("what is COMPLETE has run", r, "%s; its trace: %d begins, end %q", e, begins[e.id], end)
		case e.state == stateFail && (end == "" || end == "0"):
			a.violation("what is FAIL has failed", r, "%s; its trace: %d begins, end %q", e, begins[e.id], end)
		}
	}
	for id, n := range begins {
		if r.kind == "once" && strings.HasPrefix(id.job, "o-") && (n > 1 || id.try > 1) {
			a.violation("idempotent: false", r, "job %s began again", id.job)
		}
	}
}

// checkOverlap finds tries of one job that ran at the same time. The lock that each
// holds until the last of its processes is gone makes this exact, also for
// those that were killed; what has a begin and an end is compared as well.
func (a *Audit) checkOverlap(r *request) {
	type interval struct{ begin, end line }
	var whole []interval
	begun := map[tryID]line{}
	for _, l := range r.trace {
		switch l.what {
		case 'B':
			begun[l.try] = l
			if strings.HasPrefix(l.text, "beside:") {
				a.violation("no two tries at a time", r, "%s", l)
			}
		case 'E':
			if b, ok := begun[l.try]; ok {
				whole = append(whole, interval{b, l})
			}
		}
	}
	for _, x := range whole {
		for id, b := range begun {
			if id.job == x.begin.try.job && id != x.begin.try && b.at > x.begin.at && b.at < x.end.at {
				a.violation("no two tries at a time", r, "%s while %s", b, x.begin)
			}
		}
	}
}

// checkAgain finds jobs that ran again although they were COMPLETE, and no
// sequence had started again.
func (a *Audit) checkAgain(r *request) {
	runs := map[string]uint64{} // by job and try
	key := func(job string, try uint64) string { return fmt.Sprint(job, " ", try) }
	ends := map[tryID]int64{}
	for _, e := range r.log {
		runs[key(e.id.job, e.id.try)] = e.run
	}
	for _, l := range r.trace {
		if l.what == 'E' {
			ends[l.try] = l.at
		}
	}
	_, failed := lastRun(r)
	for _, e := range r.log {
		end, ok := ends[e.id]
		if e.state != stateComplete || !ok {
			continue
		}
		for _, l := range r.trace {
			if l.what != 'B' || l.try.job != e.id.job || l.at <= end {
				continue
			}
			run, logged := runs[key(l.try.job, l.try.try)]
			// A try without an entry was killed; it may be of a run that has no entry of
			// this job.
			if logged && run > e.run || !logged && l.try.try > e.id.try && inAgain(r, e.name) && (failed || run > 0 || hasLaterRun(r, e.run)) {
				continue
			}
			a.violation("what is COMPLETE does not run again", r, "%s after %s", l, e)
		}
	}
}

func hasLaterRun(r *request, run uint64) bool {
	for _, e := range r.log {
		if e.run > run {
			return true
		}
	}
	return false
}

// before has, for each node, those that must be done before it.
var before = map[string]map[string][]string{
	"line":     {"b": {"a"}, "c": {"b"}, "d": {"c"}, "e": {"d"}},
	"fan":      {"w": {"a"}, "z": {"w"}},
	"flaky":    {"f": {"a"}, "g": {"a"}, "z": {"f", "g"}},
	"again":    {"s1": {"a"}, "s2": {"s1"}, "s3": {"s1"}, "s4": {"s1"}, "z": {"s2", "s3", "s4"}},
	"bad":      {"f": {"a"}, "z": {"f"}},
	"stubborn": {"t": {"a"}, "k": {"a"}, "z": {"t", "k"}},
	"once":     {"o": {"a"}, "z": {"o"}},
}

// checkOrder checks that nothing began before all that it needs had ended well.
func (a *Audit) checkOrder(r *request) {
	well := map[string]map[string]int64{} // name -> job -> its last good end
	for _, l := range r.trace {
		name, _, _ := strings.Cut(l.try.job, "-")
		if l.what == 'E' && l.text == "0" {
			if well[name] == nil {
				well[name] = map[string]int64{}
			}
			well[name][l.try.job] = l.at
		}
		if l.what != 'B' {
			continue
		}
		for _, need := range before[r.kind][name] {
			want := 1
			if need == "w" {
				want = 6
			}
			if n := len(well[need]); n < want {
				a.violation("jobs run in order", r, "%s when %d of %d of %s had ended well", l, n, want, need)
			}
		}
	}
}
