package store

import (
	"errors"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/database/databasetest"
	"github.com/treadle-run/treadle/proto"
)

// TestLostAnswers to changes that went through: the call succeeds, with what the change
// gave, and what it does is done once. The same call again is refused.
func TestLostAnswers(t *testing.T) {
	for _, c := range []struct {
		name   string
		state  proto.State // before; 0 for none
		change func(t *testing.T, f *fixture, id string) error
		want   proto.State // after
		epoch  uint64
		again  error // what the same call is answered then; nil for one that may be repeated
	}{
		{"return", proto.StateRunning, func(t *testing.T, f *fixture, id string) error {
			return f.Return(t.Context(), id, 1, "nobody took it")
		}, proto.StatePending, 1, ErrNotUpdated},
		{"fail", proto.StatePending, func(t *testing.T, f *fixture, id string) error {
			return f.FailPending(t.Context(), id, "no")
		}, proto.StateFail, 0, ErrNotUpdated},
		{"suspend", proto.StateRunning, func(t *testing.T, f *fixture, id string) error {
			return f.Suspend(t.Context(), id, 1, time.Time{}, []byte("{}"), false, "")
		}, proto.StateSuspended, 1, ErrNotUpdated},
		{"stop while pending", proto.StatePending, stopped, proto.StateStopped, 0, ErrNotUpdated},
		{"stop while suspended", proto.StateSuspended, stopped, proto.StateStopped, 1, ErrNotUpdated},
		{"stop while running", proto.StateRunning, stopped, proto.StateRunning, 1, nil},
		{"expire", proto.StateSuspended, func(t *testing.T, f *fixture, _ string) error {
			f.clock.Add(2 * time.Hour)
			ended, err := f.ExpireSJCs(t.Context(), time.Hour)
			if err == nil && len(ended) != 1 {
				err = errNothing
			}
			return err
		}, proto.StateFail, 1, errNothing},
		{"dispatch", proto.StatePending, func(t *testing.T, f *fixture, id string) error {
			taken, err := f.Dispatch(t.Context(), []Handover{{RequestID: id}}, "jr-1", "http://jr-1")
			if err == nil && len(taken) != 1 {
				err = errNothing
			}
			return err
		}, proto.StateRunning, 1, errNothing},
		{"report of the end", proto.StateRunning, func(t *testing.T, f *fixture, id string) error {
			refused, err := f.SaveReport(t.Context(), []proto.ReportItem{{RequestID: id, Epoch: 1, FinishedJobs: 1,
				Entries: []proto.JobLog{entry(id, 0, "a")}, Final: proto.StateComplete}})
			if err == nil && len(refused) > 0 {
				err = errors.New(refused[0].Message)
			}
			return err
		}, proto.StateComplete, 1, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			each(t, func(t *testing.T, f *fixture) {
				id := f.inState(t, c.state)
				lose := databasetest.Losing(t, f.db)
				lose()
				if err := c.change(t, f, id); err != nil {
					t.Errorf("its answer was lost: %v", err)
				}
				f.wantState(t, id, c.want, c.epoch)
				if err := c.change(t, f, id); !errors.Is(err, c.again) {
					t.Errorf("the same call again: error %v, want %v", err, c.again)
				}
			})
		})
	}
}

var errNothing = errors.New("nothing was changed")

func stopped(t *testing.T, f *fixture, id string) error {
	t.Helper()
	was := f.request(t, id)
	out, err := f.Stop(t.Context(), id)
	if err == nil && (out.State == proto.StateRunning) != (was.State == proto.StateRunning) {
		t.Errorf("it was %s, and stopping it says that it is %s", was.State, out.State)
	}
	return err
}

// TestLostAnswersOfClaimsAndResumes: a suspended job chain is claimed, let go, claimed
// again and resumed, and each answer is lost.
func TestLostAnswersOfClaimsAndResumes(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		id := f.suspended(t)
		lose := databasetest.Losing(t, f.db)
		for range 2 {
			lose()
			sjc, err := f.ClaimSJC(t.Context(), id, "rm-1")
			if err != nil || sjc.Epoch != 1 || len(sjc.Body) == 0 {
				t.Fatalf("claimed %+v: %v", sjc, err)
			}
			if _, err := f.ClaimSJC(t.Context(), id, "rm-1"); !errors.Is(err, ErrNotUpdated) {
				t.Errorf("claimed twice: %v", err)
			}
			lose()
			must(t, f.UnclaimSJC(t.Context(), id, "rm-1"))
			if err := f.UnclaimSJC(t.Context(), id, "rm-1"); !errors.Is(err, ErrNotUpdated) {
				t.Errorf("unclaimed twice: %v", err)
			}
		}
		_, err := f.ClaimSJC(t.Context(), id, "rm-2")
		must(t, err)
		lose()
		must(t, f.Resume(t.Context(), id, 1, "rm-2", "jr-2", "http://jr-2"))
		f.wantState(t, id, proto.StateRunning, 2)
		if err := f.Resume(t.Context(), id, 1, "rm-2", "jr-2", "http://jr-2"); !errors.Is(err, ErrNotUpdated) {
			t.Errorf("resumed twice: %v", err)
		}
	})
}

// TestLostAnswersOfCreationsAndRunners are known by a row that was made, and by the
// registry.
func TestLostAnswersOfCreationsAndRunners(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		lose := databasetest.Losing(t, f.db)
		reqs := []NewRequest{newRequest(newID()), newRequest(newID())}
		reqs[1].IdempotencyKey, reqs[1].BodyHash = "key", []byte("hash")
		lose()
		must(t, f.CreateRequests(t.Context(), reqs))
		for _, r := range reqs {
			if r.Request.State != proto.StatePending || r.Request.CreatedAt.IsZero() {
				t.Errorf("created %+v", r.Request)
			}
			f.wantState(t, r.Request.ID, proto.StatePending, 0)
		}
		if n := f.count(t, "requests"); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
		lose()
		_, err := f.Heartbeat(t.Context(), proto.Runner{ID: "jr-1", URL: "http://jr-1"})
		must(t, err)
		lose()
		must(t, f.RemoveRunner(t.Context(), "jr-1"))
		if err := f.RemoveRunner(t.Context(), "jr-1"); !errors.Is(err, ErrNotFound) {
			t.Errorf("removed twice: %v", err)
		}
	})
}
