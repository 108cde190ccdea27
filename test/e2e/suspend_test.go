package e2e_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/e2e"
)

// waits has requests that wait for their next try:
//
//	job-waits:       before --> flaky --> after
//	sequence-waits:  before --> [ first --> flaky ] --> after
const waits = `
sequences:
  job-waits:
    request: true
    nodes:
      before: {category: job, type: noop}
      flaky:
        category: job
        type: fail
        deps: [before]
        retry: 1
        retryWait: 8s
        args: [{expected: times, value: 1}]
      after: {category: job, type: noop, deps: [flaky]}
  sequence-waits:
    request: true
    nodes:
      before: {category: job, type: noop}
      middle: {category: sequence, type: middle, deps: [before], retry: 1, retryWait: 8s}
      after: {category: job, type: noop, deps: [middle]}
  middle:
    nodes:
      first: {category: job, type: noop}
      flaky:
        category: job
        type: fail
        deps: [first]
        args: [{expected: times, value: 1}]
`

// A wait for the next try goes on over a suspension: it ends when it would have
// ended anyway, neither earlier nor later.
func TestSuspendedInRetryWait(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	const wait = 8 * time.Second
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("waits", waits)
		e.StartRM()
		jr := e.StartJR()
		ofJob, ofSequence := e.Submit("job-waits", nil), e.Submit("sequence-waits", nil)
		for _, id := range []string{ofJob, ofSequence} {
			e.WaitLogged(id, "flaky", proto.StateFail, 1, patience)
		}
		failed := time.Unix(0, e.Log(ofSequence)[2].FinishedAt)
		e2e.Eventually(t, patience, "half of the wait is over", func() bool { return time.Since(failed) > wait/2 })
		endJR(t, jr)
		checkAll(t, e, []string{ofJob, ofSequence}, proto.StateSuspended)
		jr = e.StartJR()
		e.WaitStates([]string{ofJob, ofSequence}, proto.StateComplete, patience)

		checkWait(t, e.Log(ofJob), []string{"before", "flaky", "flaky", "after"}, 1, wait, jr)
		checkWait(t, e.Log(ofSequence), []string{"before", "first", "flaky", "first", "flaky", "after"}, 2, wait, jr)
	})
}

// checkWait fails the test unless the log has these jobs, and the job after the
// entry with the number of the one that failed began after the wait, but earlier
// than one that had begun anew with the runner.
func checkWait(t *testing.T, entries []proto.JobLog, names []string, failed int, wait time.Duration, jr *e2e.Process) {
	t.Helper()
	var got []string
	for _, l := range entries {
		got = append(got, l.Name)
	}
	if strings.Join(got, " ") != strings.Join(names, " ") {
		t.Errorf("the log has %v, want %v", got, names)
		return
	}
	checkOrder(t, entries)
	ended, began := time.Unix(0, entries[failed].FinishedAt), time.Unix(0, entries[failed+1].StartedAt)
	if began.Before(ended.Add(wait)) || !began.Before(jr.StartedAt.Add(wait)) {
		t.Errorf("%s began %s after the failed try and %s after the start of the runner; the wait is %s",
			entries[failed+1].JobID, began.Sub(ended), began.Sub(jr.StartedAt), wait)
	}
}

// stubborn has a job that does not hear the stop in its first try, unless that is
// made again because its runner was lost. It fails the second and, unless last is
// 0, the third one.
const stubborn = `
sequences:
  stubborn:
    request: true
    args:
      required: [{name: last}, {name: dir}]
    nodes:
      deaf:
        category: job
        type: shell
        retry: 1
        args:
          - expected: last
          - expected: signs
            given: dir
          - expected: grace
            value: 300ms
          - expected: script
            value: |
              case $TREADLE_TRY in
              1) [ ! -e "$signs/$TREADLE_REQUEST_ID" ] || exit 0
                trap '' TERM; echo deaf > "$signs/$TREADLE_REQUEST_ID"; while kill -0 $PPID; do sleep 0.2; done ;;
              2) exit 1 ;;
              *) exit "$last" ;;
              esac
`

// submitStubborn asks for requests and waits until their jobs are deaf.
func submitStubborn(t *testing.T, e *e2e.Env, last ...int) (ids []string) {
	t.Helper()
	dir := t.TempDir()
	for _, exit := range last {
		ids = append(ids, e.Submit("stubborn", object{"last": exit, "dir": dir}))
	}
	for _, id := range ids {
		e2e.Eventually(t, patience, "the job is deaf", func() bool {
			_, err := os.Stat(filepath.Join(dir, id))
			return err == nil
		})
	}
	return ids
}

// A job that ignores the stop is killed and counts as STOPPED: that uses up none
// of its tries, and gives it none.
func TestSuspendedWhileJobIgnoresStop(t *testing.T) {
	t.Parallel()
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("stubborn", stubborn)
		e.StartRM()
		jr := e.StartJR()
		ids := submitStubborn(t, e, 0, 1)
		good, bad := ids[0], ids[1]
		endJR(t, jr)
		checkAll(t, e, ids, proto.StateSuspended)
		for _, id := range ids {
			if pids := marked(t, "TREADLE_REQUEST_ID="+id); len(pids) != 0 {
				t.Errorf("processes %v of the suspended request live", pids)
			}
		}
		e.StartJR()
		e.WaitState(good, proto.StateComplete, patience)
		e.WaitState(bad, proto.StateFail, patience)
		for id, want := range map[string]string{good: "STOPPED FAIL COMPLETE", bad: "STOPPED FAIL FAIL"} {
			var got []string
			entries := e.Log(id)
			for _, l := range entries {
				got = append(got, l.State.String())
			}
			if strings.Join(got, " ") != want {
				t.Errorf("the tries ended %v, want %s:\n%s", got, want, e.LogText(id))
			}
			checkOrder(t, entries)
		}
	})
}

const steps = `
sequences:
  steps:
    request: true
    nodes:
      a: {category: job, type: noop}
      b: {category: job, type: noop, deps: [a]}
      c: {category: job, type: sleep, deps: [b], args: [{expected: duration, value: 10ms}]}
      d: {category: job, type: noop, deps: [c]}
      e: {category: job, type: noop, deps: [d]}
`

// Runners end while requests come in and are dispatched, before their first
// jobs, between two jobs, and at their ends. None gets lost, no job completes
// twice.
func TestSuspendWhileRequestsCome(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("steps", steps)
		e.StartRM("TREADLE_RESUMER_INTERVAL=500ms")
		var ids []string
		for round := range 4 {
			jr := e.StartJR()
			first := e.Submit("steps", nil)
			e.WaitState(first, proto.StateComplete, patience)
			ids = append(ids, first)
			for i := range 20 {
				if i == 4*(round+1) {
					jr.Signal(syscall.SIGTERM)
				}
				ids = append(ids, e.Submit("steps", nil))
			}
			if exit := jr.Wait(patience); exit != 0 {
				t.Fatalf("%s ended with %d", jr.Name, exit)
			}
		}
		e.StartJR()
		waitDone(t, e, ids)
		moved, fresh, between := 0, 0, 0
		for _, id := range ids {
			entries := checkOnceEach(t, e, id)
			if e.Request(id).Epoch > 1 {
				moved++
			}
			if entries[0].Epoch > 1 {
				fresh++
			}
			for i := range entries[1:] {
				if entries[i].Epoch < entries[i+1].Epoch && entries[i].State == proto.StateComplete {
					between++
				}
			}
		}
		t.Logf("%d requests, %d of them handed over more than once: %d before their first job, %d between two jobs",
			len(ids), moved, fresh, between)
		if moved == 0 {
			t.Error("no request was suspended or given back: the runners ended at the wrong time")
		}
	})
}

// The second signal ends a runner at once, whatever runs; when it comes back, its
// requests go on.
func TestSecondSignalEndsRunnerAtOnce(t *testing.T) {
	t.Parallel()
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("deaf", strings.ReplaceAll(stubborn, "300ms", "10m"))
		e.StartRM()
		jr := e.StartJR()
		id := submitStubborn(t, e, 0)[0]
		jr.Signal(syscall.SIGTERM)
		e2e.Eventually(t, patience, "the runner shuts down", func() bool {
			return strings.Contains(jr.Output(), "shutting down")
		})
		if jr.Ended() {
			t.Fatal("the runner did not wait for the job")
		}
		second := time.Now()
		jr.Signal(syscall.SIGTERM)
		if exit := jr.Wait(patience); exit != 128+int(syscall.SIGTERM) {
			t.Errorf("ended with %d, want %d", exit, 128+int(syscall.SIGTERM))
		}
		if took := time.Since(second); took > 5*time.Second {
			t.Errorf("the second signal took %s", took)
		}
		e2e.Eventually(t, patience, "the processes of the job have ended", func() bool {
			return len(marked(t, "TREADLE_REQUEST_ID="+id)) == 0
		})
		if r := e.Request(id); r.State != proto.StateRunning {
			t.Errorf("nobody handed it in, but the request is %s", r.State)
		}
		e.RestartJR(jr)
		e.WaitState(id, proto.StateComplete, patience)
		checkOnceEach(t, e, id)
	})
}
