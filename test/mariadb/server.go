// Package mariadb starts MariaDB servers for tests: private ones, each in a
// directory of its own, on a loopback port, with the durable settings of a
// production server, so that they can be measured, frozen and killed. It never
// touches a server that it did not start. It knows nothing of Treadle.
package mariadb

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	_ "github.com/go-sql-driver/mysql" // the driver that NewDatabase uses
)

// Install says what to install where the server is missing.
const Install = "MariaDB is not installed: apt-get install mariadb-server (Debian, Ubuntu), or the package of your system that has mariadbd and mariadb-install-db"

const (
	account      = "treadle" // of the database
	startTimeout = 60 * time.Second
	stopTimeout  = 30 * time.Second
)

// Options says how a server is set up; the zero value is fine for tests.
type Options struct {
	// Dir is where the data goes; "" is a new temporary directory, which Stop
	// removes.
	Dir string
	// BufferPool is the size of the buffer pool in MiB; 0 is 64.
	BufferPool int
	// StartTimeout is how long a start may take; 0 is a minute.
	StartTimeout time.Duration
	// Args are more arguments of mariadbd, FirstArgs those of its first start alone.
	Args, FirstArgs []string
	// User is the user of the system that a server started by root runs as; "" is
	// root. The directory is made its own.
	User string
}

// Server is a running MariaDB.
type Server struct {
	opt     Options
	dir     string
	ownsDir bool
	port    int
	cmd     *exec.Cmd
	exited  chan struct{} // closed when cmd has ended
	count   atomic.Int64
	started bool
}

// Start sets up a new server and returns when it answers. The error says what to
// install if the server is missing. The caller must Stop it.
func Start(ctx context.Context, opt Options) (*Server, error) {
	s := &Server{opt: opt, dir: opt.Dir}
	install, err := findProgram("mariadb-install-db")
	if err != nil {
		return nil, err
	}
	if s.dir == "" {
		if s.dir, err = os.MkdirTemp("", "treadle-mariadb-"); err != nil {
			return nil, err
		}
		s.ownsDir = true
	}
	if err := os.MkdirAll(s.tmpDir(), 0o700); err != nil {
		s.removeDir()
		return nil, err
	}
	out, err := exec.CommandContext(ctx, install, append([]string{
		"--no-defaults", "--datadir=" + s.dataDir(), "--tmpdir=" + s.tmpDir(), "--auth-root-authentication-method=normal",
		"--skip-test-db", "--skip-name-resolve",
	}, asRoot()...)...).CombinedOutput()
	if err != nil {
		s.removeDir()
		return nil, fmt.Errorf("mariadb-install-db: %w: %s", err, out)
	}
	// A user of our own, so that it does not matter how root may log in.
	init := fmt.Sprintf("CREATE USER IF NOT EXISTS '%s'@'%%';\nGRANT ALL ON *.* TO '%s'@'%%' WITH GRANT OPTION;\n", account, account)
	if err := os.WriteFile(filepath.Join(s.dir, "init.sql"), []byte(init), 0o644); err != nil {
		s.removeDir()
		return nil, err
	}
	if err := s.chown(); err != nil {
		s.removeDir()
		return nil, err
	}
	if err := s.startOnFreePort(ctx); err != nil {
		s.removeDir()
		return nil, err
	}
	return s, nil
}

// startOnFreePort tries again with another port if somebody else took the one
// that was free a moment ago.
func (s *Server) startOnFreePort(ctx context.Context) error {
	var err error
	for range 3 {
		if s.port, err = FreePort(); err != nil {
			return err
		}
		if err = s.Restart(ctx); err == nil || ctx.Err() != nil {
			return err
		}
	}
	return err
}

// Restart starts the server again, after Kill9 or Shutdown, with the same port
// and data, and returns when it answers.
func (s *Server) Restart(ctx context.Context) error {
	program, err := findProgram("mariadbd")
	if err != nil {
		return err
	}
	logFile, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer logFile.Close() //nolint:errcheck // the child has its own copy
	s.cmd = exec.Command(program, s.args()...)
	s.cmd.Stdout, s.cmd.Stderr = logFile, logFile
	s.cmd.SysProcAttr = procAttr()
	if err := s.cmd.Start(); err != nil {
		return err
	}
	exited, cmd := make(chan struct{}), s.cmd
	s.exited = exited
	go func() {
		_ = cmd.Wait() // how it ended does not matter: the log says it
		close(exited)
	}()
	if err := s.waitReady(ctx); err != nil {
		s.Kill9()
		log, _ := os.ReadFile(s.logPath())
		return fmt.Errorf("mariadbd did not start: %w: %s", err, log)
	}
	s.started = true
	return nil
}

func (s *Server) args() []string {
	pool := s.opt.BufferPool
	if pool == 0 {
		pool = 64
	}
	args := []string{
		"--no-defaults",
		"--datadir=" + s.dataDir(),
		"--tmpdir=" + s.tmpDir(),
		"--socket=" + filepath.Join(s.dir, "s"),
		"--pid-file=" + filepath.Join(s.dir, "pid"),
		"--init-file=" + filepath.Join(s.dir, "init.sql"),
		"--bind-address=127.0.0.1",
		"--port=" + strconv.Itoa(s.port),
		"--skip-name-resolve",
		"--max-connections=500",
		"--innodb-flush-log-at-trx-commit=1",
		fmt.Sprintf("--innodb-buffer-pool-size=%dM", pool),
	}
	args = append(append(args, s.asUser()...), s.opt.Args...)
	if !s.started {
		args = append(args, s.opt.FirstArgs...)
	}
	return args
}

// waitReady returns when the server answers, ended, or took too long.
func (s *Server) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.opt.StartTimeout, startTimeout))
	defer cancel()
	db, err := sql.Open("mysql", s.DSN(""))
	if err != nil {
		return err
	}
	defer db.Close() //nolint:errcheck // nothing was written
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		// Not Ping alone: the user exists only when the init file has run.
		if _, err = db.ExecContext(ctx, "DO 1"); err == nil {
			return nil
		}
		select {
		case <-s.exited:
			return errors.New("it ended")
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-tick.C:
		}
	}
}

// DSN returns the data source name of a database on the server.
func (s *Server) DSN(database string) string {
	return fmt.Sprintf("%s@tcp(%s)/%s", account, s.Addr(), database)
}

// Addr returns the address that the server listens on.
func (s *Server) Addr() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
}

// NewDatabase creates an empty database and returns its DSN.
func (s *Server) NewDatabase(ctx context.Context) (string, error) {
	db, err := sql.Open("mysql", s.DSN(""))
	if err != nil {
		return "", err
	}
	defer db.Close() //nolint:errcheck // the statement has been answered
	name := fmt.Sprintf("t%d", s.count.Add(1))
	if _, err := db.ExecContext(ctx, "CREATE DATABASE "+name+" CHARACTER SET utf8mb4"); err != nil {
		return "", fmt.Errorf("create database: %w", err)
	}
	return s.DSN(name), nil
}

// Kill9 kills the server as a power cut would, and waits until it is gone.
func (s *Server) Kill9() {
	_ = s.Signal(syscall.SIGKILL)
	<-s.exited
}

// Signal sends a signal, such as SIGSTOP and SIGCONT, to the server.
func (s *Server) Signal(sig syscall.Signal) error {
	return s.cmd.Process.Signal(sig)
}

// Shutdown ends the server in good order and keeps its data.
func (s *Server) Shutdown() {
	_ = s.Signal(syscall.SIGTERM)
	late := time.NewTimer(stopTimeout)
	defer late.Stop()
	select {
	case <-s.exited:
	case <-late.C:
		s.Kill9()
	}
}

// Stop ends the server for good and removes its temporary directory.
func (s *Server) Stop() {
	// The data is thrown away, so there is no need to wait for a clean end.
	if s.ownsDir {
		s.Kill9()
	} else {
		s.Shutdown()
	}
	s.removeDir()
}

func (s *Server) removeDir() {
	if s.ownsDir {
		_ = os.RemoveAll(s.dir) // a temporary directory: the system cleans up what is left
	}
}

func (s *Server) dataDir() string { return filepath.Join(s.dir, "data") }

// tmpDir is not the system's: a server that starts removes what looks like
// temporary tables there, also those of a server that is being set up.
func (s *Server) tmpDir() string { return filepath.Join(s.dir, "tmp") }

func (s *Server) logPath() string { return filepath.Join(s.dir, "log") }

// asRoot lets a server run as root, which it refuses otherwise.
func asRoot() []string {
	if os.Geteuid() == 0 {
		return []string{"--user=root"}
	}
	return nil
}

func (s *Server) asUser() []string {
	if os.Geteuid() == 0 && s.opt.User != "" {
		return []string{"--user=" + s.opt.User}
	}
	return asRoot()
}

// chown gives the directory to the user that the server runs as.
func (s *Server) chown() error {
	if os.Geteuid() != 0 || s.opt.User == "" {
		return nil
	}
	u, err := user.Lookup(s.opt.User)
	if err != nil {
		return err
	}
	uid, err := strconv.Atoi(u.Uid)
	if err != nil {
		return err
	}
	return filepath.WalkDir(s.dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return os.Lchown(path, uid, -1)
	})
}

// findProgram looks in the sbin folders, too: they are not in every user's PATH.
func findProgram(name string) (string, error) {
	if p, err := exec.LookPath(name); err == nil {
		return p, nil
	}
	for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/libexec", "/usr/local/bin"} {
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("%s: %s", name, Install)
}

// FreePort returns a port of 127.0.0.1 that nobody listens at now.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	port := l.Addr().(*net.TCPAddr).Port
	return port, l.Close()
}

// PID returns the process id of the running server.
func (s *Server) PID() int { return s.cmd.Process.Pid }
