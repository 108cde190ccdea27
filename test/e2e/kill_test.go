package e2e_test

import (
	"testing"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/e2e"
)

// killed has jobs of each kind that a runner may die with. The job that holds ends
// with its runner.
//
//	killed:  before --> [ hold, nap ] --> after
const killed = `
sequences:
  killed:
    request: true
    args:
      required: [{name: gate_dir}]
    nodes:
      before: {category: job, type: noop}
      hold:
        category: job
        type: shell
        deps: [before]
        args:
          - expected: gate_dir
          - expected: script
            value: |
              while [ ! -e "$gate_dir/open" ]; do kill -0 $PPID || exit 1; sleep 0.2; done
              echo "$TREADLE_REQUEST_ID $TREADLE_JOB_ID" >> "$gate_dir/passed"
      nap: {category: job, type: sleep, deps: [before], args: [{expected: duration, value: 2s}]}
      after: {category: job, type: noop, deps: [hold, nap]}
`

// A runner is killed in the middle of everything. As soon as one is at its
// address again, the requests go on: what was done is not done again, what was
// running has the same try again.
func TestRunnerIsKilledAndComesBack(t *testing.T) {
	t.Parallel()
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("killed", killed)
		e.Spec("later", retryLater)
		e.StartRM()
		jr := e.StartJR()
		gate := t.TempDir()
		var ids []string
		for range 10 {
			ids = append(ids, e.Submit("killed", object{"gate_dir": gate}))
		}
		waiting := e.Submit("retry-later", nil)
		waitHeld(t, e, ids)
		e.WaitLogged(waiting, "bad", proto.StateFail, 1, patience)
		jr.Kill9()
		checkAll(t, e, append(ids, waiting), proto.StateRunning)

		e2e.Eventually(t, patience, "the scripts have ended", func() bool { return len(marked(t, "gate_dir="+gate)) == 0 })

		jr = e.RestartJR(jr)
		open(t, gate)
		e.WaitStates(ids, proto.StateComplete, patience)
		for _, id := range ids {
			for _, l := range checkOnceEach(t, e, id) {
				if l.State != proto.StateComplete || l.Try != 1 {
					t.Errorf("%s: try %d of %s is %s", id, l.Try, l.JobID, l.State)
				}
			}
		}
		checkPassedOnce(t, gate, len(ids))
		if r := e.Request(waiting); r.State != proto.StateRunning || r.Epoch != 2 || r.JobRunnerURL != jr.URL() {
			t.Errorf("in its retry wait: %+v", r)
		}
		if n := len(e.Log(waiting)); n != 1 {
			t.Errorf("in its retry wait, the log has %d entries, want 1", n)
		}
		stop(t, e, "in its retry wait", waiting)
	})
}
