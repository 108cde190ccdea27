package cmd

import (
	"bufio"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/job/builtin"
)

// session is a run of the program on a terminal of its own.
type session struct {
	t    *testing.T
	pty  *os.File // the user's side
	out  *bufio.Reader
	seen strings.Builder
	code chan int
}

// onTerminal runs the program with all its streams on a terminal.
func onTerminal(t *testing.T, f *fake, args ...string) *session {
	t.Helper()
	user, tty, err := pty.Open()
	if err != nil {
		t.Fatalf("this machine gives no terminal: %v", err)
	}
	s := &session{t: t, pty: user, out: bufio.NewReader(user), code: make(chan int, 1)}
	p := &program{stdin: tty, out: &term.Out{Stdout: tty, Stderr: tty, Now: now}, registry: builtin.Registry(),
		env: verb.Environment{"TREADLE_ADDR": f.URL}}
	go func() {
		s.code <- p.run(t.Context(), args)
		tty.Close()
	}()
	t.Cleanup(func() { user.Close() })
	return s
}

// expect reads until the terminal shows the text.
func (s *session) expect(text string) {
	s.t.Helper()
	var got strings.Builder
	for !strings.Contains(got.String(), text) {
		b, err := s.out.ReadByte()
		if err != nil {
			s.t.Fatalf("the terminal ended without %q; it showed %q", text, s.seen.String())
		}
		got.WriteByte(b)
		s.seen.WriteByte(b)
	}
}

func (s *session) enter(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.pty, text); err != nil {
		s.t.Fatal(err)
	}
}

func TestStartAsksForMissingArgs(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := onTerminal(t, f, "start", "deploy")
	s.expect("app (What to deploy) [matches ^[a-z]+$]: ")
	s.enter("shop\n")
	s.expect("count (How many) [int]: ")
	s.enter("many\n")
	s.expect(`"many" is not a whole number`)
	s.expect("count (How many) [int]: ")
	s.enter("2\n")
	s.expect("token [not shown]: ")
	s.enter("s3cret\n")
	s.expect(id)
	if code := <-s.code; code != 0 {
		t.Errorf("exit code %d", code)
	}
	want := map[string]any{"app": "shop", "count": 2.0, "token": "s3cret"}
	if d := cmp.Diff(want, f.created[0]["Args"]); d != "" {
		t.Error(d)
	}
	if strings.Contains(s.seen.String(), "s3cret") {
		t.Errorf("the secret is on the screen: %q", s.seen.String())
	}
}

func TestEndOfInputWhileAskedIsBadInput(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	s := onTerminal(t, f, "start", "deploy")
	s.expect("]: ")
	s.enter("\x04") // Ctrl-D
	s.expect("no value for arg app")
	if code := <-s.code; code != 2 || len(f.created) != 0 {
		t.Errorf("exit code %d, %d requests", code, len(f.created))
	}
}

func TestProgressIsOneLineOnATerminal(t *testing.T) {
	t.Parallel()
	f := newFake(t)
	f.events = []string{requestJSON(2, 0, ""), requestJSON(2, 1, ""), requestJSON(3, 3, "")}
	s := onTerminal(t, f, "watch", id)
	s.expect("COMPLETE")
	if code := <-s.code; code != 0 {
		t.Errorf("exit code %d", code)
	}
	want := id + "\r\n\r\x1b[2KRUNNING 0/3 jobs\r\x1b[2KRUNNING 1/3 jobs\r\x1b[2KCOMPLETE"
	if got := s.seen.String(); got != want {
		t.Errorf("the terminal was sent %q, want %q", got, want)
	}
}
