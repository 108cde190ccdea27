package e2e_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/e2e"
)

// resumeWithin is how soon after the start of a runner everything that was
// suspended runs again. TREADLE_TEST_SLACK multiplies it, for machines that do
// much else at the same time.
func resumeWithin(t *testing.T) time.Duration {
	t.Helper()
	within := 3 * time.Second
	if s := os.Getenv("TREADLE_TEST_SLACK"); s != "" {
		slack, err := strconv.ParseFloat(s, 64)
		if err != nil || slack < 1 {
			t.Fatalf("TREADLE_TEST_SLACK is %q, expected a number from 1 on", s)
		}
		within = time.Duration(float64(within) * slack)
	}
	return within
}

// Fifty requests in the middle of their chains are suspended with their runner,
// go on soon after another one starts, and end as if nothing had happened. The
// test is not parallel, for the sake of "soon".
func TestResumeAfterRunnerRestarts(t *testing.T) {
	testkit.Long(t)
	within := resumeWithin(t)
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("held", held)
		e.StartRM()
		jr := e.StartJR()
		gate := t.TempDir()
		types := []string{"held", "fanned", "slept"}
		var ids []string
		holds := 0
		for i := range 50 {
			ids = append(ids, e.Submit(types[i%3], object{"gate_dir": gate}))
			holds += map[string]int{"held": 1, "fanned": 5, "slept": 1}[types[i%3]]
		}
		waitHeld(t, e, ids)

		endJR(t, jr)
		checkAll(t, e, ids, proto.StateSuspended)
		for _, id := range ids[:3] {
			checkSuspended(t, e, id)
		}
		open(t, gate)

		jr = e.StartJR()
		waitDone(t, e, ids)
		var slowest time.Duration
		stopped := 0
		for _, id := range ids {
			entries := checkOnceEach(t, e, id)
			checkWindow(t, entries, "hold", 3)
			checkValues(t, e, id, entries)
			stopped += checkStopped(t, entries)
			slowest = max(slowest, firstUnder(t, entries, e.Request(id).Epoch).Sub(jr.StartedAt))
		}
		checkPassedOnce(t, gate, holds)
		if stopped < len(ids) {
			t.Errorf("%d jobs were stopped: not all requests were in their middle", stopped)
		}
		t.Logf("the last of %d requests ran again %s after the start of the runner", len(ids), slowest)
		if slowest > within {
			t.Errorf("the last request ran again %s after the start of the runner, want %s", slowest, within)
		}
	})
}

// checkSuspended looks at a request that no runner has.
func checkSuspended(t *testing.T, e *e2e.Env, id string) {
	t.Helper()
	r := e.Request(id)
	if r.JobRunnerURL != "" || r.FinishedAt != nil || r.StartedAt == nil || r.Reason == "" || r.FinishedJobs == 0 || r.FinishedJobs == r.TotalJobs {
		t.Errorf("suspended: %+v", r)
	}
	if r.JobChain.State != proto.StateSuspended {
		t.Errorf("its chain is %s", r.JobChain.State)
	}
	if s := e.Running(id); len(s.Jobs) != 0 {
		t.Errorf("jobs of a suspended request run: %+v", s.Jobs)
	}
}

// firstUnder returns when the first job of a hand-over started.
func firstUnder(t *testing.T, entries []proto.JobLog, epoch uint64) time.Time {
	t.Helper()
	var first int64
	for _, l := range entries {
		if l.Epoch == epoch && (first == 0 || l.StartedAt < first) {
			first = l.StartedAt
		}
	}
	if first == 0 {
		t.Fatalf("no job ran under epoch %d", epoch)
	}
	return time.Unix(0, first)
}

// checkStopped fails the test unless nothing failed and each job was stopped at
// most once. It returns how many were.
func checkStopped(t *testing.T, entries []proto.JobLog) int {
	t.Helper()
	stopped := map[string]int{}
	for _, l := range entries {
		switch l.State {
		case proto.StateStopped:
			if stopped[l.JobID]++; stopped[l.JobID] > 1 {
				t.Errorf("job %s was stopped %d times", l.JobID, stopped[l.JobID])
			}
		case proto.StateFail:
			t.Errorf("job %s failed: %s", l.JobID, l.Error)
		}
	}
	return len(stopped)
}

// checkValues fails the test unless the values that the first job set before the
// suspension are what the last one saw after it (as the text that a command gets),
// and what the chain shows, each with its type.
func checkValues(t *testing.T, e *e2e.Env, id string, entries []proto.JobLog) {
	t.Helper()
	want := "5\n3\n9007199254740993\n[1,[2.5,\"x\"],{\"k\":[true,null,-9007199254740993]}]\n"
	for _, l := range entries {
		if l.Name == "check" && l.Stdout != want {
			t.Errorf("after the suspension a job sees %q, want %q", l.Stdout, want)
		}
	}
	var chain struct {
		Jobs map[string]struct {
			Name string
			Data map[string]any
		}
	}
	a := e.Do("GET", "/api/v1/requests/"+id+"/job-chain", nil)
	d := json.NewDecoder(bytes.NewReader(a.Body))
	d.UseNumber() // it keeps the text of numbers
	if err := d.Decode(&chain); err != nil {
		t.Fatal(err)
	}
	shown := object{
		"n": json.Number("5"), "f": json.Number("3.0"), "big": json.Number("9007199254740993"),
		"deep": []any{
			json.Number("1"), []any{json.Number("2.5"), "x"},
			object{"k": []any{true, nil, json.Number("-9007199254740993")}},
		},
	}
	for _, j := range chain.Jobs {
		if j.Name == "values" && len(j.Data) > 0 && !reflect.DeepEqual(j.Data, shown) {
			t.Errorf("the chain shows %v, want %v", j.Data, shown)
		}
	}
}
