package store

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

func TestJobLogComesBackByteForByte(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		id := f.running(t)
		full := entry(id, 0, "a")
		full.Try, full.Run, full.Epoch, full.Exit, full.State = 2, 1, 1, -9, proto.StateFail
		full.Error, full.TimedOut = "it's \\ \"bad\" – \x00 ☃", "seq-1"
		full.SetOutput([]byte("out\x00\xff\xfe'\\\n"), []byte("grüße"))
		full.Data = proto.Values{"int": int64(1) << 62, "float": 3.0, "list": []any{"x", nil}, "big": uint64(1) << 63}
		empty := entry(id, 1, "b")
		empty.Epoch = 1
		f.report(t, proto.ReportItem{RequestID: id, Epoch: 1, Entries: []proto.JobLog{full, empty}})
		got, err := f.JobLog(t.Context(), id)
		must(t, err)
		if d := cmp.Diff([]proto.JobLog{full, empty}, got); d != "" {
			t.Errorf("job log (-want +got):\n%s", d)
		}
		stdout, _ := got[0].Output()
		if !bytes.Equal(stdout, []byte("out\x00\xff\xfe'\\\n")) {
			t.Errorf("stdout %q", stdout)
		}
	})
}

func TestErrorsAreMadeText(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		id := f.running(t)
		e := entry(id, 0, "a")
		e.Error = "bad \xff byte " + strings.Repeat("é", maxError)
		f.report(t, proto.ReportItem{RequestID: id, Epoch: 1, Entries: []proto.JobLog{e}, Final: proto.StateFail,
			Reason: strings.Repeat("é", database.MaxReason)})
		got, err := f.LastJobLog(t.Context(), id, "a")
		must(t, err)
		if !strings.HasPrefix(got.Error, "bad \uFFFD byte é") || len(got.Error) > maxError {
			t.Errorf("error of %d bytes: %.20q", len(got.Error), got.Error)
		}
		if r := f.request(t, id); r.Reason != strings.Repeat("é", database.MaxReason/2) {
			t.Errorf("reason of %d bytes", len(r.Reason))
		}
	})
}

func TestLongJobLogs(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		id := f.running(t)
		const entries = 2*logPageRows + 1
		var log []proto.JobLog
		for i := range entries {
			log = append(log, entry(id, uint64(i), fmt.Sprintf("j%d", i)))
		}
		// So large that pages and statements are cut by size.
		for i := range 5 {
			log[i].Stdout = strings.Repeat("x", logPageBytes/4)
		}
		f.report(t, proto.ReportItem{RequestID: id, Epoch: 1, Entries: log, FinishedJobs: entries})
		next := 0
		must(t, f.EachJobLog(t.Context(), id, func(e *proto.JobLog) error {
			if e.Seq != uint64(next) || e.JobID != log[next].JobID || len(e.Stdout) != len(log[next].Stdout) {
				t.Fatalf("entry %d is %d of job %s", next, e.Seq, e.JobID)
			}
			next++
			// The callback may use the store.
			if next == 1 {
				f.request(t, id)
			}
			return nil
		}))
		if next != entries {
			t.Errorf("%d entries, want %d", next, entries)
		}
		end := errors.New("enough")
		if err := f.EachJobLog(t.Context(), id, func(*proto.JobLog) error { return end }); !errors.Is(err, end) {
			t.Errorf("error %v, want that of the callback", err)
		}
	})
}

func TestLastJobLogIsOfTheLastTry(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		id := f.running(t)
		var log []proto.JobLog
		for i := range 12 {
			e := entry(id, uint64(i), "a")
			e.Try = uint(i + 1)
			log = append(log, e)
		}
		log = append(log, entry(id, 12, "b"))
		f.report(t, proto.ReportItem{RequestID: id, Epoch: 1, Entries: log})
		e, err := f.LastJobLog(t.Context(), id, "a")
		must(t, err)
		if e.Try != 12 {
			t.Errorf("try %d, want 12", e.Try)
		}
		if _, err := f.LastJobLog(t.Context(), id, "c"); !errors.Is(err, ErrNotFound) {
			t.Errorf("error %v, want ErrNotFound", err)
		}
		if got, err := f.JobLog(t.Context(), newID()); err != nil || len(got) != 0 {
			t.Errorf("log of no request: %v, %v", got, err)
		}
	})
}

func TestAppendLogCountsByItself(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		id := f.running(t)
		for _, job := range []string{"a", "b", "b", "c"} { // b is sent twice
			e := entry(id, 77, job)
			must(t, f.AppendLog(t.Context(), 1, e))
		}
		log, err := f.JobLog(t.Context(), id)
		must(t, err)
		var got string
		for _, e := range log {
			got += fmt.Sprintf("%d%s ", e.Seq, e.JobID)
		}
		if got != "0a 1b 2c " {
			t.Errorf("log %s, want 0a 1b 2c", got)
		}
		must(t, f.SetProgress(t.Context(), id, 1, 3))
		if r := f.request(t, id); r.FinishedJobs != 3 {
			t.Errorf("%d jobs finished, want 3", r.FinishedJobs)
		}
		for name, err := range map[string]error{
			"entry under another epoch":    f.AppendLog(t.Context(), 2, entry(id, 0, "d")),
			"entry of a suspended request": f.AppendLog(t.Context(), 1, entry(f.suspended(t), 0, "d")),
			"progress of another epoch":    f.SetProgress(t.Context(), id, 0, 9),
		} {
			if !errors.Is(err, ErrNotUpdated) {
				t.Errorf("%s: error %v, want ErrNotUpdated", name, err)
			}
		}
	})
}
