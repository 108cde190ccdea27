package e2e_test

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/e2e"
)

// patience is for what happens soon on a machine that does nothing else.
const patience = time.Minute

// held has requests that stay in the middle of their chains until their gate is
// open. What the first job sets is there before, what the last one reads after.
//
//	held:   values --> hold --> check
//	slept:  values --> nap --> hold --> check
//	fanned: values --> [hold --> after] x 5, at most 3 at a time --> check
//	wide:   hold x 6
const held = `
sequences:
  held:
    request: true
    args:
      required: [{name: gate_dir}]
    nodes:
      values: {category: sequence, type: values}
      hold: {category: sequence, type: hold, deps: [values], args: [{expected: gate_dir}]}
      check: {category: sequence, type: check, deps: [hold]}

  slept:
    request: true
    args:
      required: [{name: gate_dir}]
    nodes:
      values: {category: sequence, type: values}
      nap:
        category: job
        type: sleep
        deps: [values]
        args: [{expected: duration, value: 3s}]
      hold: {category: sequence, type: hold, deps: [nap], args: [{expected: gate_dir}]}
      check: {category: sequence, type: check, deps: [hold]}

  fanned:
    request: true
    args:
      required: [{name: gate_dir}]
      optional: [{name: items, type: list, default: [1, 2, 3, 4, 5]}]
    nodes:
      values: {category: sequence, type: values}
      each:
        category: sequence
        type: hold-item
        each: ["items:item"]
        parallel: 3
        deps: [values]
        args: [{expected: gate_dir}]
      check: {category: sequence, type: check, deps: [each]}

  wide:
    request: true
    args:
      required: [{name: gate_dir}]
      optional: [{name: items, type: list, default: [1, 2, 3, 4, 5, 6]}]
    nodes:
      each:
        category: sequence
        type: hold-item
        each: ["items:item"]
        args: [{expected: gate_dir}]

  hold-item:
    args:
      required: [{name: gate_dir}, {name: item}]
    nodes:
      hold: {category: sequence, type: hold, args: [{expected: gate_dir}]}
      after:
        category: job
        type: noop
        deps: [hold]
        args: [{expected: item}]

  values:
    nodes:
      values:
        category: job
        type: shell
        args:
          - expected: script
            value: |
              echo '{"n": 5, "f": 3.0, "big": 9007199254740993, "deep": [1, [2.5, "x"], {"k": [true, null, -9007199254740993]}]}' > "$TREADLE_OUTPUT"

  hold:
    args:
      required: [{name: gate_dir}]
    nodes:
      hold:
        category: job
        type: shell
        args:
          - expected: gate_dir
          - expected: script
            value: |
              [ -e "$gate_dir/open" ] || exec sleep 300
              echo "$TREADLE_REQUEST_ID $TREADLE_JOB_ID" >> "$gate_dir/passed"

  check:
    nodes:
      check:
        category: job
        type: shell
        args:
          - expected: script
            value: printf '%s\n' "$n" "$f" "$big" "$deep"
`

// waitHeld waits until a job runs of every request, later than the one that sets
// the values.
func waitHeld(t *testing.T, e *e2e.Env, ids []string) {
	t.Helper()
	e2e.Eventually(t, patience, fmt.Sprintf("%d requests are in their middle", len(ids)), func() bool {
		t.Helper()
		if len(e.List("state=PENDING&state=SUSPENDED&limit=1")) > 0 {
			return false
		}
		runs := map[string]bool{}
		for _, j := range e.Running("").Jobs {
			runs[j.RequestID] = runs[j.RequestID] || j.Name == "hold" || j.Name == "nap"
		}
		for _, id := range ids {
			if !runs[id] {
				return false
			}
		}
		return true
	})
}

// waitDone waits until no request is left that is not final, and fails the test
// unless those with the ids are COMPLETE. It asks less of a busy machine than to
// wait for each of them.
func waitDone(t *testing.T, e *e2e.Env, ids []string) {
	t.Helper()
	e2e.Eventually(t, 2*patience, "all requests are done", func() bool {
		t.Helper()
		return len(e.List("state=PENDING&state=RUNNING&state=SUSPENDED&limit=1")) == 0
	})
	checkAll(t, e, ids, proto.StateComplete)
}

// endJR ends a runner with SIGTERM, which must be a good end.
func endJR(t *testing.T, jr *e2e.Process) {
	t.Helper()
	if exit := jr.Term(); exit != 0 {
		t.Fatalf("%s ended with %d:\n%s", jr.Name, exit, jr.Output())
	}
}

// checkAll fails the test unless all requests are in the state now.
func checkAll(t *testing.T, e *e2e.Env, ids []string, want proto.State) {
	t.Helper()
	for _, r := range e.List("") {
		if slices.Contains(ids, r.ID) && r.State != want {
			t.Fatalf("request %s (%s) is %s, want %s: %s", r.ID, r.Type, r.State, want, r.Reason)
		}
	}
}

// checkOnceEach fails the test unless the request is done and every job of it
// completed once. It returns the job log.
func checkOnceEach(t *testing.T, e *e2e.Env, id string) []proto.JobLog {
	t.Helper()
	r, entries := e.Request(id), e.Log(id)
	completed := map[string]int{}
	for _, l := range entries {
		if l.State == proto.StateComplete {
			completed[l.JobID]++
		}
	}
	for jobID, j := range r.JobChain.Jobs {
		if !j.Structural && completed[jobID] != 1 {
			t.Errorf("job %s of %s (%s) completed %d times, want once:\n%s", jobID, id, r.Type, completed[jobID], e.LogText(id))
		}
	}
	if r.State != proto.StateComplete || r.FinishedJobs != r.TotalJobs || r.FinishedAt == nil {
		t.Errorf("request %s (%s) is %s with %d of %d jobs, finished at %v", id, r.Type, r.State, r.FinishedJobs, r.TotalJobs, r.FinishedAt)
	}
	checkOrder(t, entries)
	return entries
}

// checkWindow fails the test unless at most limit jobs with the name ran at any
// time.
func checkWindow(t *testing.T, entries []proto.JobLog, name string, limit int) {
	t.Helper()
	type change struct {
		at int64
		by int
	}
	var changes []change
	for _, l := range entries {
		if l.Name == name {
			changes = append(changes, change{l.StartedAt, 1}, change{l.FinishedAt, -1})
		}
	}
	slices.SortFunc(changes, func(a, b change) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by))
	})
	now, most := 0, 0
	for _, c := range changes {
		now += c.by
		most = max(most, now)
	}
	if most > limit {
		t.Errorf("%d of %s ran at a time, want at most %d", most, name, limit)
	}
}

// checkPassedOnce fails the test unless each job that passed the gate did so once,
// as somebody outside sees it.
func checkPassedOnce(t *testing.T, gate string, want int) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(gate, "passed"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(strings.ReplaceAll(string(b), " ", "/"))
	seen := map[string]bool{}
	for _, l := range lines {
		if seen[l] {
			t.Errorf("%s passed the gate twice", l)
		}
		seen[l] = true
	}
	if len(lines) != want {
		t.Errorf("%d jobs passed the gate, want %d", len(lines), want)
	}
}

// marked returns the ids of the processes that have text in their environment.
func marked(t *testing.T, text string) []int {
	t.Helper()
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, path := range environs {
		b, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(b, []byte(text)) {
			continue // ended just now, or another's
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			t.Fatal(err)
		}
		pids = append(pids, pid)
	}
	return pids
}
