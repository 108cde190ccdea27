package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/e2e"
)

const retryLater = `
sequences:
  retry-later:
    request: true
    nodes:
      bad: {category: job, type: fail, retry: 1, retryWait: 1h}
`

// stopped is a request that was stopped, and what it looked like then.
type stopped struct {
	name string
	r    proto.Request
	log  int // entries
}

// stop stops the request and waits until it has ended.
func stop(t *testing.T, e *e2e.Env, name, id string) stopped {
	t.Helper()
	e.Stop(id)
	r := e.WaitState(id, proto.StateStopped, patience)
	if r.FinishedAt == nil || r.Reason == "" || r.JobRunnerURL != "" || !r.StopRequested {
		t.Errorf("%s: stopped: finished at %v, reason %q, runner %q, stop requested %v", name, r.FinishedAt, r.Reason, r.JobRunnerURL, r.StopRequested)
	}
	if s := e.Running(id); len(s.Jobs) != 0 {
		t.Errorf("%s: jobs run after the stop: %+v", name, s.Jobs)
	}
	return stopped{name: name, r: r, log: len(e.Log(id))}
}

// checkStays fails the test unless the request is as it was when it was stopped.
func (s stopped) checkStays(t *testing.T, e *e2e.Env) {
	t.Helper()
	r := e.Request(s.r.ID)
	if r.State != proto.StateStopped || !r.FinishedAt.Equal(*s.r.FinishedAt) || r.FinishedJobs != s.r.FinishedJobs || r.Epoch != s.r.Epoch {
		t.Errorf("%s: it was %+v, and is %+v", s.name, s.r, r)
	}
	if n := len(e.Log(r.ID)); n != s.log {
		t.Errorf("%s: the log had %d entries, and has %d:\n%s", s.name, s.log, n, e.LogText(r.ID))
	}
}

// A stop in any state that is not final ends STOPPED, and stays so whatever
// starts again.
func TestStopInEveryState(t *testing.T) {
	t.Parallel()
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("held", held)
		e.Spec("later", retryLater)
		e.Spec("quick", quick)
		rm := e.StartRM("TREADLE_RESUMER_INTERVAL=500ms")
		args := object{"gate_dir": t.TempDir()}
		all := []stopped{stop(t, e, "PENDING", e.Submit("held", args))}

		jr := e.StartJR()
		inJob, inWait, parallel := e.Submit("held", args), e.Submit("retry-later", nil), e.Submit("wide", args)
		suspended, done := e.Submit("fanned", args), e.Submit("quick", nil)
		e.WaitState(done, proto.StateComplete, patience)
		waitHeld(t, e, []string{inJob, parallel, suspended})
		e.WaitLogged(inWait, "bad", proto.StateFail, 1, patience)
		all = append(all, stop(t, e, "RUNNING a job", inJob), stop(t, e, "RUNNING, in a retry wait", inWait),
			stop(t, e, "RUNNING parallel jobs", parallel))
		checkStoppedLogs(t, e, all)
		endJR(t, jr)
		checkAll(t, e, []string{suspended}, proto.StateSuspended)
		all = append(all, stop(t, e, "SUSPENDED", suspended))

		for _, s := range all {
			e.Stop(s.r.ID) // again is as good as once
		}
		a := e.Do(http.MethodPut, "/api/v1/requests/"+done+"/stop", nil)
		if a.Status != http.StatusConflict || !strings.Contains(string(a.Body), "COMPLETE") {
			t.Errorf("stop of what is COMPLETE: %d %s", a.Status, a.Body)
		}

		rm.Term()
		e.StartRM("TREADLE_RESUMER_INTERVAL=500ms")
		e.RestartJR(jr)
		e.WaitState(e.Submit("quick", nil), proto.StateComplete, patience)
		for _, s := range all {
			s.checkStays(t, e)
		}
	})
}

// checkStoppedLogs looks at what TestStopInEveryState leaves in the logs: of a
// request that was PENDING, of one job, of a retry wait, and of six jobs.
func checkStoppedLogs(t *testing.T, e *e2e.Env, all []stopped) {
	t.Helper()
	want := []struct{ complete, fail, stopped int }{{0, 0, 0}, {1, 0, 1}, {0, 1, 0}, {0, 0, 6}}
	for i, w := range want {
		entries := e.Log(all[i].r.ID)
		got := struct{ complete, fail, stopped int }{
			e2e.Count(entries, "", proto.StateComplete), e2e.Count(entries, "", proto.StateFail), e2e.Count(entries, "", proto.StateStopped)}
		if got != w {
			t.Errorf("%s: the log has %+v, want %+v", all[i].name, got, w)
		}
	}
}

// slowEnd has a job that takes a while to end when it is told to.
const slowEnd = `
sequences:
  slow-end:
    request: true
    nodes:
      hold:
        category: job
        type: shell
        args:
          - expected: script
            value: |
              trap 'sleep 0.5; exit 1' TERM
              sleep 300 & wait
      never: {category: job, type: noop, deps: [hold]}
`

// A stop and the end of the runner at the same time: whoever asked for the stop
// gets it, the others go on.
func TestStopWhileBeingSuspended(t *testing.T) {
	t.Parallel()
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("slow", slowEnd)
		e.Spec("quick", quick)
		e.StartRM("TREADLE_RESUMER_INTERVAL=500ms")
		jr := e.StartJR()
		var ids []string
		for range 16 {
			ids = append(ids, e.Submit("slow-end", nil))
		}
		waitHeld(t, e, ids)
		stops, goOn := ids[:12], ids[12:]
		for i, id := range stops {
			if i == 4 {
				jr.Signal(syscall.SIGTERM)
			}
			e.Stop(id)
		}
		if exit := jr.Wait(patience); exit != 0 {
			t.Errorf("%s ended with %d", jr.Name, exit)
		}
		checkAll(t, e, stops, proto.StateStopped)
		checkAll(t, e, goOn, proto.StateSuspended)

		e.StartJR()
		waitHeld(t, e, goOn)
		for _, id := range stops {
			if r := e.Request(id); r.State != proto.StateStopped || r.FinishedAt == nil || e2e.Count(e.Log(id), "never", proto.StateComplete) > 0 {
				t.Errorf("stopped: %+v\n%s", r, e.LogText(id))
			}
		}
		for _, id := range goOn {
			stop(t, e, "resumed", id)
		}
	})
}

// family has a job with children: one in the background, and a subshell that
// ignores SIGTERM, with a child.
const family = `
sequences:
  family:
    request: true
    args:
      required: [{name: marker}, {name: sign}]
    nodes:
      parent:
        category: job
        type: shell
        args:
          - expected: marker
          - expected: sign
          - expected: grace
            value: 300ms
          - expected: script
            value: |
              sleep 300 &
              sleep 300 | sleep 300 &
              (trap '' TERM; echo > "$sign"; sleep 300; sleep 300) &
              wait
`

// A script that is stopped leaves no process.
func TestStopLeavesNoProcess(t *testing.T) {
	t.Parallel()
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("family", family)
		e.StartRM()
		marker := fmt.Sprintf("%s-%d", e.Database, e.StartJR().PID())
		sign := filepath.Join(e.Dir, "sign")
		id := e.Submit("family", object{"marker": marker, "sign": sign})
		e2e.Eventually(t, patience, "the whole family lives", func() bool {
			_, err := os.Stat(sign)
			return err == nil && len(marked(t, "marker="+marker)) >= 6
		})
		stop(t, e, "family", id)
		if pids := marked(t, "marker="+marker); len(pids) != 0 {
			t.Errorf("processes %v are left", pids)
		}
		if entries := e.Log(id); len(entries) != 1 || entries[0].State != proto.StateStopped {
			t.Errorf("the log is\n%s", e.LogText(id))
		}
	})
}
