package schedule

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/rs/xid"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/engine"
	"github.com/treadle-run/treadle/schedule/store"
)

// MemberOptions are those of one member. A test gives them to the process that it
// starts, as flags of the same names.
type MemberOptions struct {
	Store   database.Config
	Run     string // of the test
	Process string // name of this process
	Dir     string // of the test
	Scale   time.Duration
	Seed    uint64
	Logger  *slog.Logger
}

// flags are the command line of a member, but for its database.
func (o MemberOptions) flags() []string {
	return []string{"--run", o.Run, "--process", o.Process, "--dir", o.Dir, "--scale", o.Scale.String(),
		"--seed", strconv.FormatUint(o.Seed, 10)}
}

// RunMember runs a member of a test until ctx ends.
func RunMember(ctx context.Context, o MemberOptions) (err error) {
	d, err := database.Open(ctx, o.Store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	db, err := openDB(o.Store)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	trace, err := openTrace(filepath.Join(o.Dir, traceDir, o.Process))
	if err != nil {
		return err
	}
	host, err := os.Hostname()
	if err != nil {
		return err
	}
	t := timingOf(o.Scale)
	engine.New(engine.Config{
		Store:  store.New(d),
		Hook:   &hook{artifacts: newArtifacts(db, o.Run, o.Store.MySQLDSN != ""), trace: trace, seed: o.Seed, scale: o.Scale},
		Logger: o.Logger,
		Member: proto.Member{ID: o.Process + "-" + xid.New().String(), Host: host, PID: os.Getpid(), Version: "torture"},
		Poll:   t.poll, Heartbeat: t.heartbeat, StaleAfter: t.stale, Workers: workers,
	}).Run(ctx)
	return trace.file.Close()
}
