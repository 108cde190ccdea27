package e2e_test

import (
	"database/sql"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/e2e"
)

// suspend asks for requests, and returns when they are suspended in their middle
// and there is no runner.
func suspend(t *testing.T, e *e2e.Env, requestType, gate string, n int) (ids []string) {
	t.Helper()
	jr := e.StartJR()
	for range n {
		ids = append(ids, e.Submit(requestType, object{"gate_dir": gate}))
	}
	waitHeld(t, e, ids)
	endJR(t, jr)
	checkAll(t, e, ids, proto.StateSuspended)
	return ids
}

// What no runner takes for longer than the TTL fails, says so, and never runs
// again.
func TestSuspendedForTooLong(t *testing.T) {
	t.Parallel()
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("held", held)
		e.Spec("quick", quick)
		e.StartRM("TREADLE_RESUMER_TTL=2s", "TREADLE_RESUMER_INTERVAL=500ms")
		gate := t.TempDir()
		jr := e.StartJR()
		var ids []string
		for range 3 {
			ids = append(ids, e.Submit("held", object{"gate_dir": gate}))
		}
		waitHeld(t, e, ids)
		endJR(t, jr)
		e.WaitStates(ids, proto.StateFail, patience)
		entries := map[string]int{}
		for _, id := range ids {
			r, log := e.Request(id), e.Log(id)
			stopped := time.Unix(0, log[len(log)-1].FinishedAt)
			if r.FinishedAt == nil || r.FinishedAt.After(time.Now()) || r.FinishedAt.Before(stopped.Add(2*time.Second)) {
				t.Errorf("%s finished at %v; its last job was stopped at %v", id, r.FinishedAt, stopped)
			}
			if !strings.Contains(r.Reason, "suspended for longer than 2s") || r.JobRunnerURL != "" {
				t.Errorf("reason %q, runner %q", r.Reason, r.JobRunnerURL)
			}
			entries[id] = len(log)
		}
		open(t, gate)
		e.StartJR()
		e.WaitState(e.Submit("quick", nil), proto.StateComplete, patience)
		for _, id := range ids {
			if r, n := e.Request(id), len(e.Log(id)); r.State != proto.StateFail || n != entries[id] {
				t.Errorf("%s is %s with %d entries, want FAIL with %d", id, r.State, n, entries[id])
			}
		}
	})
}

// A claim of a manager that is no more keeps the others off until the claim
// timeout, and from failing it by the TTL; then the request goes on.
func TestOldClaimIsDropped(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("held", held)
		e.StartRM("TREADLE_RESUMER_CLAIM_TIMEOUT=4s", "TREADLE_RESUMER_INTERVAL=300ms", "TREADLE_RESUMER_TTL=1m")
		gate := t.TempDir()
		ids := suspend(t, e, "held", gate, 2)
		claimed, free := ids[0], ids[1]
		db := e.DB()
		claimedAt := time.Now()
		change(t, db, "UPDATE suspended_job_chains SET claimed_by = 'gone/1/x', claimed_at = ? WHERE request_id = ? AND claimed_by IS NULL",
			claimedAt.UnixMicro(), claimed)
		open(t, gate)
		e.StartJR()
		e.WaitState(free, proto.StateComplete, patience)
		e.WaitState(claimed, proto.StateComplete, patience)
		entries := checkOnceEach(t, e, claimed)
		if again := firstUnder(t, entries, 2); again.Before(claimedAt.Add(4 * time.Second)) {
			t.Errorf("it went on %s after it was claimed, want 4s at least", again.Sub(claimedAt))
		}
		checkOnceEach(t, e, free)
		checkPassedOnce(t, gate, 2)
	})
}

func change(t *testing.T, db *sql.DB, statement string, args ...any) {
	t.Helper()
	res, err := db.ExecContext(t.Context(), statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		t.Fatalf("%s changed %d rows, want 1 (%v)", statement, n, err)
	}
}

// A manager that is frozen and killed in the middle of its claims leaves some
// behind, and perhaps hand-overs that no runner got. All of it goes on.
func TestManagerDiesInItsClaims(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		e.Spec("held", held)
		env := []string{"TREADLE_RESUMER_CLAIM_TIMEOUT=2s", "TREADLE_RESUMER_INTERVAL=500ms", "TREADLE_RUNNER_TRIES=1", "TREADLE_RUNNER_RETRY_WAIT=0s"}
		rm := e.StartRM(env...)
		gate := t.TempDir()
		ids := suspend(t, e, "held", gate, 40)
		db := e.DB()
		left := 0
		var jr *e2e.Process
		for range 5 {
			jr = e.StartJR()
			if left = freezeInClaim(t, db, rm); left > 0 {
				break
			}
			waitHeld(t, e, ids) // it was too quick: once more
			endJR(t, jr)
		}
		if left == 0 {
			t.Fatal("the manager never stood still in the middle of a claim")
		}
		t.Logf("the manager died with %d claims", left)
		rm.Kill9()
		e.StartRM(env...)
		waitHeld(t, e, ids)
		endJR(t, jr)
		checkAll(t, e, ids, proto.StateSuspended)
		open(t, gate)
		e.StartJR()
		waitDone(t, e, ids)
		for _, id := range ids {
			checkOnceEach(t, e, id)
		}
		checkPassedOnce(t, gate, len(ids))
	})
}

// freezeInClaim freezes the manager when it has claims, and returns how many; 0 if
// it went on with all of them before. It is not frozen then.
func freezeInClaim(t *testing.T, db *sql.DB, rm *e2e.Process) (claims int) {
	t.Helper()
	count := func(where string) (n int) {
		t.Helper()
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM suspended_job_chains WHERE "+where).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	e2e.Eventually(t, patience, "the manager claims", func() bool {
		rm.Signal(syscall.SIGSTOP)
		if claims = count("claimed_by IS NOT NULL"); claims > 0 {
			return true
		}
		rm.Signal(syscall.SIGCONT)
		return count("1 = 1") == 0
	})
	return claims
}

// Two managers, each with a runner, resume the same requests: none goes to two
// runners, no job runs twice.
func TestTwoManagersResume(t *testing.T) {
	t.Parallel()
	e2e.ForEachDB(t, func(t *testing.T, e *e2e.Env) {
		if e.Database == "SQLite" {
			t.Skip("a SQLite file is for one Request Manager")
		}
		e.Spec("held", held)
		first := e.StartRM()
		gate := t.TempDir()
		ids := suspend(t, e, "held", gate, 200)
		epochs := map[string]uint64{}
		for _, r := range e.List("state=SUSPENDED") {
			epochs[r.ID] = r.Epoch
		}
		open(t, gate)

		second := e.StartRM()
		e.StartJR()
		e.StartJR("TREADLE_RM_CLIENT_URL=" + second.URL())
		waitDone(t, e, ids)
		for _, id := range ids {
			for _, l := range checkOnceEach(t, e, id) {
				if l.Epoch != epochs[id] && l.Epoch != epochs[id]+1 {
					t.Errorf("%s was suspended under epoch %d, and ran under %d: it was resumed more than once", id, epochs[id], l.Epoch)
				}
			}
		}
		checkPassedOnce(t, gate, len(ids))
		for _, rm := range []*e2e.Process{first, second} {
			t.Logf("%s resumed %d", rm.Name, strings.Count(rm.Output(), `msg="request resumed"`))
		}
	})
}
