package torture

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/treadle-run/treadle/test/process"
)

// What was done and what was not is in the events; what cannot be healed ends the test.
func TestRunnerDoesAPlan(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err             error
		missed, wantErr bool
	}{
		"done": {}, "another fault has it": {err: ErrTaken, missed: true}, "not healed": {err: ErrBroken, missed: true, wantErr: true},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		r := &Runner{Do: func(_ context.Context, f Fault) error {
			cancel() // the plan ends with its first fault
			return c.err
		}}
		err := r.Run(ctx, time.Now(), []Fault{{Kind: DBKill}, {At: time.Hour, Kind: DBStop}})
		if errors.Is(err, ErrBroken) != c.wantErr {
			t.Errorf("%s: error %v", name, err)
		}
		var report Report
		report.Count(r.Events(), &Findings{})
		if missed := report.Missed == 1; missed != c.missed || report.Faults[DBKill] == report.Missed || len(report.Events) != 1 {
			t.Errorf("%s: %+v", name, report)
		}
	}
}

// The same violation counts once, whatever its evidence; logs are searched for what none
// may say.
func TestFindings(t *testing.T) {
	t.Parallel()
	var f Findings
	f.Add("rule", "thing %d\nseen here", 1)
	f.Add("rule", "thing 1\nseen there")
	f.Add("rule", "thing 2")
	log := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(log, []byte("well\npanic: oh\nat x.go"), 0o600); err != nil {
		t.Fatal(err)
	}
	f.CheckLog("rm1", log)
	f.CheckLog("rm2", log+".missing")
	all := f.All()
	if len(all) != 4 || all[0].Evidence != "seen here" || all[2].Evidence != "panic: oh\nat x.go" || all[3].Rule != "logs" {
		t.Errorf("found %+v", all)
	}
}

// What ends by itself is started again; what a fault has, or has left, is not.
func TestServicesAreKept(t *testing.T) {
	t.Parallel()
	log := filepath.Join(t.TempDir(), "log")
	gone := make(chan string, 10)
	s := &Service{Name: "m1", Exited: func(p string) { gone <- p }, Launch: func(string) (*process.Process, error) {
		return process.Start("/bin/sh", log, []string{"-c", "exec sleep 100"})
	}}
	if err := s.Start(); err != nil {
		t.Fatal(err)
	}
	if !s.Claim() || s.Claim() {
		t.Error("a fault does not have it alone")
	}
	s.Kill()
	if p := <-gone; p != "m1.1" || !s.Ended() || s.claimDied() {
		t.Errorf("%s has ended; it is dead and a fault has it", p)
	}
	s.Release()
	ctx, cancel := context.WithCancel(t.Context())
	Keep(ctx, time.Millisecond, func() []*Service { return []*Service{s} }, func(s *Service) {
		if s.ExitCode() != -1 {
			t.Errorf("exit code %d", s.ExitCode())
		}
		cancel()
	}, nil)
	if s.Ended() || s.Process() != "m1.2" {
		t.Errorf("%s is the last, ended: %v", s.Process(), s.Ended())
	}
	s.Leave()
	if err := s.Terminate(time.Minute); err != nil {
		t.Error(err)
	}
	if s.claimDied() || s.Claim() {
		t.Error("one that has left is started again")
	}
}
