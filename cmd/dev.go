package cmd

import (
	"context"
	cryptorand "crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/verb"
	jr "github.com/treadle-run/treadle/job-runner/app"
	rm "github.com/treadle-run/treadle/request-manager/app"
)

// devFlags are the flags of the verb dev.
type devFlags struct {
	listen, data, specs, demo, logLevel string
}

func devVerb(s services, m *verb.Manager) *cobra.Command {
	var f devFlags
	c := &cobra.Command{
		Use:   "dev",
		Short: "Run Request Manager, Job Runner and database in one process, to try Treadle",
		Long: `Runs a Request Manager and a Job Runner in one process, with an embedded database, until
Ctrl-C. The next start continues with the same data. Users are not authenticated: it is
for trying Treadle on your own machine.`,
		Example: `  treadle dev
  treadle dev --specs ./specs --listen 127.0.0.1:4000`,
		Args: verb.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			outlive()
			ctx, stop := untilHangup(c.Context())
			defer stop()
			return (&dev{services: s, manager: m, flags: f}).run(ctx)
		},
	}
	c.Flags().StringVar(&f.listen, "listen", "127.0.0.1:32308", "`host:port` of the API")
	c.Flags().StringVar(&f.data, "data", ".treadle", "`directory` for the database; it is created")
	c.Flags().StringVar(&f.specs, "specs", "specs", "`directory` with the specs")
	c.Flags().StringVar(&f.demo, "demo", "", "start a request of this `type` and show its progress")
	c.Flags().StringVar(&f.logLevel, "log-level", "warn", "log `level`: debug, info, warn or error")
	return c
}

// dev runs both services in one process.
type dev struct {
	services
	manager *verb.Manager
	flags   devFlags
}

func (d *dev) run(ctx context.Context) error {
	if err := checkFree(ctx, d.flags.listen); err != nil {
		return err
	}
	rmConfig, jrConfig, err := devConfig(d.flags)
	if err != nil {
		return err
	}
	defer d.sayEnding(ctx, jrConfig.ShutdownTimeout)()

	// The manager outlives the runner, which hands back its job chains.
	living, stopManager := context.WithCancel(context.WithoutCancel(ctx))
	defer stopManager()
	ready := make(chan string, 1)
	managerEnded := make(chan error, 1)
	go func() {
		managerEnded <- rm.Run(living, rmConfig, d.managerDeps(rmConfig, func(addr string) { ready <- addr }))
	}()
	var addr string
	select {
	case addr = <-ready:
	case err := <-managerEnded:
		return err
	case <-ctx.Done():
		stopManager()
		return <-managerEnded
	}
	jrConfig.RMClient.URL = "http://" + addr
	return d.runRunner(ctx, jrConfig, managerEnded, stopManager)
}

// runRunner runs the runner beside the manager until ctx or one of them ends. Then it
// ends the other.
func (d *dev) runRunner(ctx context.Context, cfg jr.Config, managerEnded <-chan error, stopManager func()) error {
	running, stopRunner := context.WithCancel(ctx)
	defer stopRunner()
	ready := make(chan string, 1)
	remember := sameAddr(&cfg, d.flags.data)
	runnerEnded := make(chan error, 1)
	go func() {
		runnerEnded <- jr.Run(running, cfg, d.runnerDeps(cfg, func(addr string) { ready <- addr }))
	}()
	demoEnded := make(chan struct{})
	go func() {
		defer close(demoEnded)
		select {
		case addr := <-ready:
			remember(addr)
			d.ready(running, cfg.RMClient.URL)
		case <-running.Done():
		}
	}()
	var managerErr, runnerErr error
	select {
	case managerErr = <-managerEnded:
		stopRunner()
		runnerErr = <-runnerEnded
	case runnerErr = <-runnerEnded:
		stopRunner() // for the demo
		stopManager()
		managerErr = <-managerEnded
	}
	<-demoEnded
	return errors.Join(managerErr, runnerErr)
}

// sayEnding tells the user, once ctx ends, that the first signal was received. The
// returned function cancels that.
func (d *dev) sayEnding(ctx context.Context, limit time.Duration) func() bool {
	return context.AfterFunc(ctx, func() {
		d.out.Say("treadle: shutting down, which may take up to %s; a second signal ends it at once", limit)
	})
}

// checkFree returns an error if the address is in use, before anything is started.
func checkFree(ctx context.Context, addr string) error {
	ln, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use: another program, perhaps another treadle dev, listens there; stop it, or choose another address with --listen", addr)
	}
	if err != nil {
		return verb.Usagef("--listen: %v", err)
	}
	return ln.Close()
}

// devConfig makes the configurations of both services, and the data directory
// with all it needs.
func devConfig(f devFlags) (rm.Config, jr.Config, error) {
	rmConfig, jrConfig := rm.Default(), jr.Default()
	rmConfig.Server.Addr = f.listen
	rmConfig.Specs.Dir = f.specs
	rmConfig.SQLite.Path = filepath.Join(f.data, "treadle.db")
	rmConfig.Secrets.KeyFile = filepath.Join(f.data, "secrets.key")
	rmConfig.Log.Level = f.logLevel
	jrConfig.Server.Addr = "127.0.0.1:0"
	jrConfig.Log.Level = f.logLevel
	if err := errors.Join(rmConfig.Validate(), jrConfig.Validate()); err != nil {
		return rmConfig, jrConfig, verb.Usagef("%w", err)
	}
	if info, err := os.Stat(f.specs); err != nil || !info.IsDir() {
		return rmConfig, jrConfig, verb.Usagef("--specs: there is no directory %s; give the one with your spec files", f.specs)
	}
	if err := os.MkdirAll(f.data, 0o700); err != nil {
		return rmConfig, jrConfig, verb.Usagef("--data: %v", err)
	}
	return rmConfig, jrConfig, makeKey(rmConfig.Secrets.KeyFile)
}

// sameAddr makes the runner listen at the address of the last runner of this data
// directory, if it is free: a new process at a known address proves that the old one
// has ended, so that its requests are recovered at once.
func sameAddr(cfg *jr.Config, data string) (ready func(addr string)) {
	path := filepath.Join(data, "runner.addr")
	if b, err := os.ReadFile(path); err == nil {
		addr := strings.TrimSpace(string(b))
		if ln, err := net.Listen("tcp", addr); err == nil && strings.HasPrefix(addr, "127.0.0.1:") {
			if ln.Close() == nil {
				cfg.Server.Addr = addr
			}
		}
	}
	return func(addr string) {
		// Without it, the next start waits for the lease; that is all.
		_ = os.WriteFile(path, []byte(addr+"\n"), 0o600)
	}
}

// makeKey creates the key that encrypts secret args, unless it exists.
func makeKey(path string) error {
	key := make([]byte, 32)
	if _, err := cryptorand.Read(key); err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(file, hex.EncodeToString(key))
	return errors.Join(err, file.Close())
}
