package e2e_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/e2e"
	"github.com/treadle-run/treadle/test/programs"
)

// tally is how many tries of a job failed and completed.
type tally struct{ failed, complete int }

// failures has a request for each way in which jobs fail.
const failures = `
sequences:
  # flaky: fails twice, and completes at its third and last try
  retried:
    request: true
    nodes:
      flaky:
        category: job
        type: fail
        retry: 2
        retryWait: 50ms
        args:
          - expected: times
            value: 2

  # good --> bad --> never
  fails-for-good:
    request: true
    nodes:
      good: {category: job, type: noop}
      bad:
        category: job
        type: fail
        deps: [good]
        retry: 1
        args:
          - expected: message
            value: "the disk is full"
      never: {category: job, type: noop, deps: [bad]}

  #      +--> left ---> bad
  # good +
  #      +--> right --> slow --> end
  branches:
    request: true
    nodes:
      good: {category: job, type: noop}
      left: {category: job, type: noop, deps: [good]}
      bad: {category: job, type: fail, deps: [left]}
      right: {category: job, type: noop, deps: [good]}
      slow:
        category: job
        type: sleep
        deps: [right]
        args: [{expected: duration, value: 300ms}]
      end: {category: job, type: noop, deps: [slow]}

  # The sequence in the middle fails at its first try, while a job of it still runs:
  #
  #               +--> slow --------+
  # before --> [ begin              end ] --> after
  #               +--> [in --> flaky]
  sequence-retried:
    request: true
    nodes:
      before: {category: job, type: noop}
      middle: {category: sequence, type: middle, deps: [before], retry: 1, retryWait: 50ms}
      after: {category: job, type: noop, deps: [middle]}
  middle:
    nodes:
      begin: {category: job, type: noop}
      slow:
        category: job
        type: sleep
        deps: [begin]
        args: [{expected: duration, value: 500ms}]
      inner: {category: sequence, type: inner, deps: [begin]}
      end: {category: job, type: noop, deps: [slow, inner]}
  inner:
    nodes:
      in: {category: job, type: noop}
      flaky:
        category: job
        type: fail
        deps: [in]
        args: [{expected: times, value: 1}]

  # Inner retries are used up in each try of the outer sequence: 2 x 2 x 2 tries.
  nested-retries:
    request: true
    nodes:
      outer: {category: sequence, type: outer, retry: 1}
  outer:
    nodes:
      nested: {category: sequence, type: nested, retry: 1}
  nested:
    nodes:
      bad: {category: job, type: fail, retry: 1}

  times-out:
    request: true
    nodes:
      slow:
        category: job
        type: sleep
        timeout: 200ms
        args: [{expected: duration, value: 1h}]

  exits:
    request: true
    nodes:
      script:
        category: job
        type: shell
        args:
          - expected: script
            value: echo some words; echo other words >&2; exit 7
`

// Each way to fail: the state it ends in, what the reason says, and exactly the
// tries that the spec asks for.
func TestFailures(t *testing.T) {
	t.Parallel()
	tests := []struct {
		request string
		want    proto.State
		reason  []string
		tries   map[string]tally
	}{
		{"retried", proto.StateComplete, nil, map[string]tally{"flaky": {2, 1}}},
		{"fails-for-good", proto.StateFail, []string{"bad", "the disk is full"},
			map[string]tally{"good": {0, 1}, "bad": {2, 0}, "never": {0, 0}}},
		{"branches", proto.StateFail, []string{"bad"},
			map[string]tally{"good": {0, 1}, "left": {0, 1}, "bad": {1, 0}, "right": {0, 1}, "slow": {0, 1}, "end": {0, 1}}},
		{"sequence-retried", proto.StateComplete, nil,
			map[string]tally{"before": {0, 1}, "begin": {0, 2}, "slow": {0, 2}, "in": {0, 2}, "flaky": {1, 1}, "end": {0, 1}, "after": {0, 1}}},
		{"nested-retries", proto.StateFail, []string{"bad"}, map[string]tally{"bad": {8, 0}}},
		{"times-out", proto.StateFail, []string{"slow"}, map[string]tally{"slow": {1, 0}}},
		{"exits", proto.StateFail, []string{"script"}, map[string]tally{"script": {1, 0}}},
	}
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("failures", failures)
		e.StartRM()
		e.StartJR()
		for _, tt := range tests {
			t.Run(tt.request, func(t *testing.T) {
				t.Parallel()
				id := e.Submit(tt.request, nil)
				r := e.WaitState(id, tt.want, 30*time.Second)
				if r.FinishedAt == nil {
					t.Error("no finish time")
				}
				for _, s := range tt.reason {
					if !strings.Contains(r.Reason, s) {
						t.Errorf("the reason %q does not have %q", r.Reason, s)
					}
				}
				entries := e.Log(id)
				total := 0
				for name, want := range tt.tries {
					got := tally{e2e.Count(entries, name, proto.StateFail), e2e.Count(entries, name, proto.StateComplete)}
					if got != want {
						t.Errorf("%s failed %d times and completed %d times, want %d and %d", name, got.failed, got.complete, want.failed, want.complete)
					}
					total += want.failed + want.complete
				}
				if len(entries) != total {
					t.Errorf("the log has %d entries, want %d:\n%s", len(entries), total, e.LogText(id))
				}
				checkOrder(t, entries)
			})
		}
	})
}

// checkOrder fails the test unless the log is in order: entries as they were
// stored, the tries of each job counting up.
func checkOrder(t *testing.T, entries []proto.JobLog) {
	t.Helper()
	tries := map[string]uint{}
	for i, l := range entries {
		if l.Seq != uint64(i) {
			t.Errorf("entry %d has number %d", i, l.Seq)
		}
		if l.Try != tries[l.JobID]+1 {
			t.Errorf("entry %d is try %d of %s, after try %d", i, l.Try, l.JobID, tries[l.JobID])
		}
		tries[l.JobID] = l.Try
		if l.FinishedAt < l.StartedAt || l.StartedAt == 0 {
			t.Errorf("entry %d ran from %d to %d", i, l.StartedAt, l.FinishedAt)
		}
	}
}

// A command that fails leaves its exit code and all that it said.
func TestFailedCommandIsLogged(t *testing.T) {
	t.Parallel()
	e := e2e.NewEnv(t, "SQLite")
	e.Spec("failures", failures)
	e.StartRM()
	e.StartJR()
	id := e.Submit("exits", nil)
	e.WaitState(id, proto.StateFail, 20*time.Second)
	if l := e.Log(id)[0]; l.Exit != 7 || l.Stdout != "some words\n" || l.Stderr != "other words\n" || l.Error == "" {
		t.Errorf("the entry is %+v", l)
	}
}

const panics = `
sequences:
  panics:
    request: true
    nodes:
      bang: {category: job, type: panic, retry: 1}
  panics-at-creation:
    request: true
    nodes:
      bang: {category: job, type: panic-create}
  fine:
    request: true
    nodes:
      only: {category: job, type: noop}
`

// A job type of a user's program that panics fails its job; the services go on.
func TestPanicIsAFailedTry(t *testing.T) {
	t.Parallel()
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Package = programs.Panicky
		e.Spec("panics", panics)
		e.StartRM()
		e.StartJR()
		id := e.Submit("panics", nil)
		r := e.WaitState(id, proto.StateFail, 20*time.Second)
		if n := e2e.Count(e.Log(id), "bang", proto.StateFail); n != 2 || !strings.Contains(r.Reason, "out of luck") {
			t.Errorf("%d tries failed, want 2; the reason is %q", n, r.Reason)
		}
		a := e.Do("POST", "/api/v1/requests", object{"Type": "panics-at-creation"})
		if a.Status != http.StatusUnprocessableEntity || !strings.Contains(string(a.Body), "bang") {
			t.Errorf("panic at creation: %d %s", a.Status, a.Body)
		}
		e.WaitState(e.Submit("fine", nil), proto.StateComplete, 20*time.Second)
	})
}

const uncreatable = `
sequences:
  uncreatable:
    request: true
    args:
      required:
        - name: hosts
    nodes:
      list-hosts:
        category: job
        type: split
        args:
          - {expected: string, given: hosts}
          - {expected: separator, value: ","}
        sets: [{arg: list, as: names}]
      each-host:
        category: job
        type: noop
        each: ["names:name"]
        deps: [list-hosts]
`

// A job that cannot be created is the mistake of who asks: the answer has the
// node and the reason, and nothing is stored.
func TestCreateFails(t *testing.T) {
	t.Parallel()
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("uncreatable", uncreatable)
		e.StartRM()
		a := e.Do("POST", "/api/v1/requests", object{"Type": "uncreatable", "Args": object{"hosts": 7}})
		if a.Status != http.StatusBadRequest && a.Status != http.StatusUnprocessableEntity {
			t.Errorf("status %d", a.Status)
		}
		for _, s := range []string{"list-hosts", "string"} {
			if !strings.Contains(string(a.Body), s) {
				t.Errorf("%q is not in %s", s, a.Body)
			}
		}
		if list := e.List(""); len(list) != 0 {
			t.Errorf("stored: %+v", list)
		}
	})
}
