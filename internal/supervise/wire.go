package supervise

import (
	"bytes"
	"encoding/gob"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// request is what a runner tells its supervisor. All have the lease.
type request struct {
	ID    uint64 // of the command
	Until instant
	Start *startRequest
	// End tells the command to end within Grace.
	End   bool
	Grace time.Duration
	// Ping asks for a reply.
	Ping bool
}

// startRequest comes with the files of Stdout and Stderr, and that of the lock if
// there is one.
type startRequest struct {
	Path      string
	Argv, Env []string
	Dir       string
	Lock      string // path of the locked file, or ""
	User      *User  // nil: that of the runner
}

// files is how many files come with it.
func (r *startRequest) files() int {
	if r.Lock != "" {
		return 3
	}
	return 2
}

// reply is what a supervisor tells its runner.
type reply struct {
	ID      uint64 // of the command; 0: that it is there, or still there
	PID     int    // it was started
	Refused bool   // the right to run has ended; nothing was started
	Failed  *startError
	Ended   *Outcome
}

// startError is why a command could not be started.
type startError struct {
	Message string
	Errno   syscall.Errno // 0 if it was nothing that the system said
}

func (e *startError) Error() string { return e.Message }

// Unwrap returns what the system said.
func (e *startError) Unwrap() error {
	if e.Errno == 0 {
		return nil
	}
	return e.Errno
}

func newStartError(err error) *startError {
	e := &startError{Message: err.Error()}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		e.Errno = errno
	}
	return e
}

// wire is one end of the socket pair. One goroutine may receive while others
// send.
type wire struct {
	conn *net.UnixConn
	dec  *gob.Decoder
	// files were received and not taken yet. They come no later than what they
	// belong to, and in its order.
	files []*os.File
	oob   []byte

	mu  sync.Mutex
	buf bytes.Buffer
	enc *gob.Encoder
	// patience is how long the other end may be busy with something else; 0 is for
	// ever.
	patience time.Duration
}

// maxFiles is how many files one value comes with at most.
const maxFiles = 3

// newWire takes over the file of a socket.
func newWire(f *os.File, patience time.Duration) (*wire, error) {
	conn, err := net.FileConn(f) // has a copy
	_ = f.Close()
	if err != nil {
		return nil, err
	}
	u, ok := conn.(*net.UnixConn)
	if !ok {
		_ = conn.Close()
		return nil, errors.New("not a socket of this machine")
	}
	w := &wire{conn: u, oob: make([]byte, syscall.CmsgSpace(maxFiles*4)*4), patience: patience}
	w.dec = gob.NewDecoder(w)
	w.enc = gob.NewEncoder(&w.buf)
	return w, nil
}

// send sends a value with files, which stay the caller's.
func (w *wire) send(v any, files ...*os.File) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buf.Reset()
	if err := w.enc.Encode(v); err != nil {
		return err
	}
	if w.buf.Cap() > 1<<20 {
		defer func() { w.buf = bytes.Buffer{} }()
	}
	if w.patience > 0 {
		_ = w.conn.SetWriteDeadline(time.Now().Add(w.patience))
	}
	b := w.buf.Bytes()
	if len(files) > 0 {
		fds := make([]int, len(files))
		for i, f := range files {
			fds[i] = int(f.Fd())
		}
		n, _, err := w.conn.WriteMsgUnix(b, syscall.UnixRights(fds...), nil)
		if err != nil {
			return err
		}
		b = b[n:]
	}
	if len(b) == 0 {
		return nil
	}
	_, err := w.conn.Write(b)
	return err
}

// receive receives the next value into v.
func (w *wire) receive(v any) error { return w.dec.Decode(v) }

// take returns the next n files that came, which are the caller's then.
func (w *wire) take(n int) ([]*os.File, error) {
	if len(w.files) < n {
		return nil, errors.New("files are missing")
	}
	files := w.files[:n:n]
	w.files = w.files[n:]
	return files, nil
}

// Read is for the decoder: it keeps the files that come along.
func (w *wire) Read(p []byte) (int, error) {
	n, oobn, _, _, err := w.conn.ReadMsgUnix(p, w.oob)
	if oobn > 0 {
		if err := w.keep(w.oob[:oobn]); err != nil {
			return 0, err
		}
	}
	return max(n, 0), err // an error comes with -1
}

func (w *wire) keep(oob []byte) error {
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return err
	}
	for i := range messages {
		fds, err := syscall.ParseUnixRights(&messages[i])
		if err != nil {
			return err
		}
		for _, fd := range fds {
			w.files = append(w.files, os.NewFile(uintptr(fd), "from the runner"))
		}
	}
	return nil
}

func (w *wire) close() { _ = w.conn.Close() }

// socketPair returns the ends of a connection. Neither is inherited by accident.
func socketPair() (ours, theirs *os.File, err error) {
	syscall.ForkLock.RLock()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	return os.NewFile(uintptr(fds[0]), "supervisor"), os.NewFile(uintptr(fds[1]), "runner"), nil
}
