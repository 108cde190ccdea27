package request

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// A whole life of a request with a secret arg: its value is in no answer, and in
// the database only encrypted.
func TestSecretsAreInNoAnswer(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		const secret = "hunter2"
		w.runningAnswer = func(context.Context, string) ([]proto.JobStatus, error) { return nil, nil }
		m := w.manager()
		w.run(m)
		created, err := m.Create(w.t.Context(), proto.CreateRequest{Type: "login", Args: proto.Values{"user": "ann", "password": secret}}, "ann", "k")
		must(w.t, err)
		id := created.ID
		look := func(when string) {
			w.t.Helper()
			r, err := m.Get(w.t.Context(), id)
			must(w.t, err)
			whole, err := m.GetWithJC(w.t.Context(), id)
			must(w.t, err)
			jc, err := m.JobChain(w.t.Context(), id)
			must(w.t, err)
			list, err := m.Find(w.t.Context(), proto.RequestFilter{})
			must(w.t, err)
			log, err := m.Log(w.t.Context(), id)
			must(w.t, err)
			running, err := m.Running(w.t.Context(), "", "")
			must(w.t, err)
			b, err := json.Marshal([]any{created, r, whole, jc, list, log, running, m.Specs()})
			must(w.t, err)
			if strings.Contains(string(b), secret) {
				w.t.Errorf("%s: the secret is in %s", when, b)
			}
			if !strings.Contains(string(b), proto.SecretMask) {
				w.t.Errorf("%s: nothing is masked in %s", when, b)
			}
			if found, err := m.Find(w.t.Context(), proto.RequestFilter{Args: map[string]string{"password": secret}}); err != nil || len(found) != 0 {
				w.t.Errorf("%s: requests can be found by a secret: %v, %v", when, found, err)
			}
		}
		look("PENDING")
		jr := w.runner(m, "jr-1", "http://jr-1")
		after(time.Second)
		if !strings.Contains(string(w.sendings(id)[0].body), secret) {
			w.t.Error("the runner does not get the secret")
		}
		look("RUNNING")
		jr.kill()
		w.runner(m, "jr-2", "http://jr-1", func(r *proto.Runner) { r.Draining = true })
		after(2 * time.Second)
		w.want(id, proto.StateSuspended)
		look("SUSPENDED")
		_, err = m.Create(w.t.Context(), proto.CreateRequest{Type: "login", Args: proto.Values{"user": "ann", "password": secret, "x": secret}}, "ann", "")
		if err == nil || strings.Contains(err.Error(), secret) {
			w.t.Errorf("error %v", err)
		}
	})
}

func TestRunningAsksTheRunnersThatHaveSomething(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		w.runner(m, "jr-1", "http://jr-1")
		w.runner(m, "jr-2", "http://jr-2")
		w.runner(m, "jr-3", "http://jr-3", func(r *proto.Runner) { r.Draining = true }) // has nothing
		var ids []string
		for range 8 {
			ids = append(ids, w.create(m, "deploy"))
		}
		after(3 * time.Second)
		at := map[string]string{}
		for _, s := range w.sendings("") {
			at[s.id] = s.url
		}
		w.runningAnswer = func(ctx context.Context, url string) ([]proto.JobStatus, error) {
			switch url {
			case "http://jr-2":
				return nil, hang(ctx)
			case "http://jr-3":
				w.t.Error("a runner that has nothing was asked")
			}
			var jobs []proto.JobStatus
			for i, id := range ids {
				if at[id] == url {
					jobs = append(jobs, proto.JobStatus{RequestID: id, JobID: "a", StartedAt: int64(100 - i), State: proto.StateRunning})
				}
			}
			return jobs, nil
		}
		start := time.Now()
		s, err := m.Running(w.t.Context(), "", "startTime")
		must(w.t, err)
		if d := time.Since(start); d != 2*time.Second {
			w.t.Errorf("the answer took %s, want the time that a runner has", d)
		}
		if !slices.Equal(s.Unreachable, []string{"http://jr-2"}) {
			w.t.Errorf("unreachable: %v", s.Unreachable)
		}
		if len(s.Jobs) == 0 || len(s.Jobs) != len(s.Requests) ||
			!slices.IsSortedFunc(s.Jobs, func(a, b proto.JobStatus) int { return int(a.StartedAt - b.StartedAt) }) {
			w.t.Errorf("jobs %+v of %d requests", s.Jobs, len(s.Requests))
		}

		for _, id := range ids {
			s, err := m.Running(w.t.Context(), id, "")
			must(w.t, err)
			if at[id] == "http://jr-1" && (len(s.Jobs) != 1 || s.Requests[id].ID != id || len(s.Unreachable) != 0) ||
				at[id] == "http://jr-2" && (len(s.Jobs) != 0 || len(s.Unreachable) != 1) {
				w.t.Errorf("of one request: %+v", s)
			}
		}
		_, err = m.Running(w.t.Context(), "", "jobId")
		errorCode(w.t, err, proto.CodeInvalid)
		_, err = m.Running(w.t.Context(), "no-such-request", "")
		errorCode(w.t, err, proto.CodeNotFound)
	})
}

func TestTheJobChainIsAsItIsNow(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		jr := w.runner(m, "jr-1", "http://jr-1")
		id := w.create(m, "deploy")
		after(time.Second)
		jr.report(id, proto.StateUnknown, w.entry(id, "first", 0))
		jc, err := m.JobChain(w.t.Context(), id)
		must(w.t, err)
		states := map[string]proto.State{}
		for _, j := range jc.Jobs {
			states[j.Name] = j.State
			if j.Bytes != nil {
				w.t.Error("the chain has bytes of jobs")
			}
		}
		if states["first"] != proto.StateComplete || states["second"] != proto.StateRunning || jc.FinishedJobs != 1 || jc.State != proto.StateRunning {
			w.t.Errorf("job chain is %s with %v, %d finished", jc.State, states, jc.FinishedJobs)
		}
		_, err = m.LastLog(w.t.Context(), id, "nothing")
		errorCode(w.t, err, proto.CodeNotFound)
		_, err = m.Log(w.t.Context(), "no-such-request")
		errorCode(w.t, err, proto.CodeNotFound)
		_, err = m.JobChain(w.t.Context(), "../../x")
		errorCode(w.t, err, proto.CodeNotFound)
	})
}

// Whatever is in the database already, a request can be read and stopped, and it ends.
func TestNoLogMakesARequestUnreadableOrImmortal(t *testing.T) {
	t.Parallel()
	for name, bad := range map[string]func(e *proto.JobLog){
		"before its previous job": func(*proto.JobLog) {},
		"unknown job":             func(e *proto.JobLog) { e.JobID = "nobody" },
		"wrong try":               func(e *proto.JobLog) { e.Try = 7 },
		"a hole before it":        func(e *proto.JobLog) { e.Seq = 5 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				m := w.manager()
				w.run(m)
				jr := w.runner(m, "jr-1", "http://jr-1")
				id := w.create(m, "deploy")
				after(time.Second)
				e := w.entry(id, "second", 0)
				bad(&e)
				refused, err := w.store.SaveReport(w.t.Context(), []proto.ReportItem{{RequestID: id, Epoch: 1, Entries: []proto.JobLog{e}}})
				must(w.t, err)
				if len(refused) != 0 {
					w.t.Fatalf("the store refused %+v", refused)
				}
				jc, err := m.JobChain(w.t.Context(), id)
				must(w.t, err)
				if len(jc.Jobs) != 2 || jc.State != proto.StateRunning {
					w.t.Errorf("job chain %+v", jc)
				}
				if r, err := m.GetWithJC(w.t.Context(), id); err != nil || r.JobChain == nil {
					w.t.Errorf("request %+v, %v", r, err)
				}
				if name != "a hole before it" {
					must(w.t, m.Stop(w.t.Context(), id))
				}
				jr.kill()
				after(2 * time.Minute)
				want := proto.StateStopped
				if name == "a hole before it" {
					want = proto.StateFail
				}
				if r := w.want(id, want); r.Reason == "" || r.FinishedAt == nil {
					w.t.Errorf("%+v", r)
				}
			})
		})
	}
}

// What does not fit is refused at the door, and leaves the request as it was.
func TestReportsThatDoNotFitTheLogAreRefused(t *testing.T) {
	t.Parallel()
	complete := func(w *world, id string) proto.ReportItem {
		return proto.ReportItem{RequestID: id, Epoch: 1, Final: proto.StateComplete, FinishedJobs: 2, Entries: w.rest(id)}
	}
	for name, harm := range map[string]func(item *proto.ReportItem){
		"unknown job":         func(i *proto.ReportItem) { i.Entries[0].JobID = "nobody" },
		"wrong try":           func(i *proto.ReportItem) { i.Entries[0].Try = 2 },
		"no try":              func(i *proto.ReportItem) { i.Entries[0].Try = 0 },
		"a hole":              func(i *proto.ReportItem) { i.Entries[1].Seq = 2 },
		"begins after a hole": func(i *proto.ReportItem) { i.Entries[0].Seq, i.Entries[1].Seq = 1, 2 },
		"wrong order": func(i *proto.ReportItem) {
			i.Entries[0].JobID, i.Entries[1].JobID = i.Entries[1].JobID, i.Entries[0].JobID
		},
		"the same job again":        func(i *proto.ReportItem) { i.Entries[1].JobID, i.Entries[1].Try = i.Entries[0].JobID, 2 },
		"another run":               func(i *proto.ReportItem) { i.Entries[0].Run = 3 },
		"timed out by nothing":      func(i *proto.ReportItem) { i.Entries[0].TimedOut = "nothing" },
		"COMPLETE with jobs left":   func(i *proto.ReportItem) { i.Entries = i.Entries[:1] },
		"COMPLETE without entries":  func(i *proto.ReportItem) { i.Entries = nil },
		"COMPLETE after a failure":  func(i *proto.ReportItem) { i.Entries[1].State = proto.StateFail },
		"more finished than jobs":   func(i *proto.ReportItem) { i.FinishedJobs = 3 },
		"a request that is unknown": func(i *proto.ReportItem) { i.RequestID = "c0000000000000000000"; i.Entries = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				m := w.manager()
				w.run(m)
				w.runner(m, "jr-1", "http://jr-1")
				id, other := w.create(m, "deploy"), w.create(m, "deploy")
				after(time.Second)
				bad := complete(w, id)
				harm(&bad)
				report := proto.Report{RunnerID: "jr-1", Items: []proto.ReportItem{bad, complete(w, other)}}
				for range 2 { // the answer was lost
					a, err := m.Report(w.t.Context(), report)
					must(w.t, err)
					if len(a.Refused) != 1 || a.Refused[0].RequestID != bad.RequestID || a.Refused[0].Message == "" {
						w.t.Errorf("refused: %+v", a.Refused)
					}
				}
				w.want(id, proto.StateRunning)
				w.want(other, proto.StateComplete)
				if log, err := m.Log(w.t.Context(), id); err != nil || len(log) != 0 {
					w.t.Errorf("log %+v, %v", log, err)
				}
				// What fits is still taken.
				a, err := m.Report(w.t.Context(), proto.Report{RunnerID: "jr-1", Items: []proto.ReportItem{complete(w, id)}})
				must(w.t, err)
				if len(a.Refused) != 0 {
					w.t.Errorf("refused: %+v", a.Refused)
				}
				w.want(id, proto.StateComplete)
			})
		})
	}
}

// A count that runs ahead of the log is not shown: after a kill, the jobs would run
// again that it counted.
func TestFinishedJobsNeverExceedTheLog(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		w.runner(m, "jr-1", "http://jr-1")
		id := w.create(m, "deploy")
		after(time.Second)
		_, err := m.Report(w.t.Context(), proto.Report{RunnerID: "jr-1", Items: []proto.ReportItem{{
			RequestID: id, Epoch: 1, FinishedJobs: 2, Entries: w.rest(id)[:1],
		}}})
		must(w.t, err)
		if r := w.want(id, proto.StateRunning); r.FinishedJobs != 1 {
			w.t.Errorf("%d jobs have finished", r.FinishedJobs)
		}
	})
}

func TestChangesWakeThoseWhoWatch(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		id := w.create(m, "deploy")
		changed, end := m.Changed(id)
		other, endOther := m.Changed("other")
		jr := w.runner(m, "jr-1", "http://jr-1")
		after(time.Second)
		<-changed // sent
		jr.report(id, proto.StateComplete)
		<-changed
		select {
		case <-other:
			w.t.Error("a watch was woken by another request")
		default:
		}
		end()
		endOther()
		if n := len(m.changes.watches); n != 0 {
			w.t.Errorf("%d watches are left", n)
		}
	})
}
