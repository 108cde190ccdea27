package requests

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	xterm "golang.org/x/term"

	"github.com/treadle-run/treadle/cmd/internal/argtext"
	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
)

// asker asks a user for args on a terminal. Questions go to stderr, so that stdout has
// nothing but results.
type asker struct {
	tty    *os.File
	in     *bufio.Reader // of tty
	stderr io.Writer
}

func newAsker(tty *os.File, stderr io.Writer) *asker {
	return &asker{tty: tty, in: bufio.NewReader(tty), stderr: stderr}
}

// ask asks the user for the args and adds them to args. A value that cannot be
// right is asked for again.
func (a *asker) ask(ctx context.Context, wanted []proto.RequestArg, args proto.Values) error {
	for _, arg := range wanted {
		for {
			text, err := a.askOne(ctx, arg)
			if err != nil {
				return err
			}
			v, err := argtext.ParseValue(arg.ValueType, text, false)
			if err == nil {
				args[arg.Name] = v
				break
			}
			a.say("  " + err.Error())
		}
	}
	return nil
}

func (a *asker) askOne(ctx context.Context, arg proto.RequestArg) (string, error) {
	text, err := a.read(ctx, question(arg), arg.Secret)
	switch {
	case errors.Is(err, io.EOF):
		a.say("")
		return "", verb.Usagef("no value for arg %s", arg.Name)
	case err != nil:
		a.say("")
		return "", err
	}
	return text, nil
}

// question is what is asked: "host (Host to stop) [int; one of 1, 2]: ".
func question(a proto.RequestArg) string {
	var b strings.Builder
	b.WriteString(term.Clean(a.Name))
	if a.Desc != "" {
		fmt.Fprintf(&b, " (%s)", term.Clean(a.Desc))
	}
	var hints []string
	if a.ValueType != "" && a.ValueType != "string" {
		hints = append(hints, a.ValueType)
	}
	if len(a.Enum) > 0 {
		hints = append(hints, "one of "+term.Values(a.Enum))
	}
	if a.Pattern != "" {
		hints = append(hints, "matches "+term.Clean(a.Pattern))
	}
	if a.Secret {
		hints = append(hints, "not shown")
	}
	if len(hints) > 0 {
		fmt.Fprintf(&b, " [%s]", strings.Join(hints, "; "))
	}
	return b.String() + ": "
}

// read asks for a line on the terminal; a secret one is not shown. It returns at once
// when ctx ends, and leaves the read behind: nothing can interrupt a read, and the
// program is about to end.
func (a *asker) read(ctx context.Context, prompt string, secret bool) (string, error) {
	type line struct {
		text string
		err  error
	}
	before, err := xterm.GetState(int(a.tty.Fd()))
	if err != nil {
		return "", err
	}
	lines := make(chan line, 1)
	go func() {
		ask := a.readPlain
		if secret {
			ask = a.readSecret
		}
		text, err := ask(prompt)
		lines <- line{text, err}
	}()
	select {
	case l := <-lines:
		return l.text, l.err
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), xterm.Restore(int(a.tty.Fd()), before))
	}
}

func (a *asker) readPlain(prompt string) (string, error) {
	if _, err := fmt.Fprint(a.stderr, prompt); err != nil {
		return "", err
	}
	s, err := a.in.ReadString('\n')
	if s != "" && errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimRight(s, "\r\n"), err
}

// readSecret turns off the echo before it asks, so that a quick answer is not shown
// either.
func (a *asker) readSecret(prompt string) (string, error) {
	before, err := xterm.MakeRaw(int(a.tty.Fd()))
	if err != nil {
		return "", err
	}
	screen := xterm.NewTerminal(struct {
		io.Reader
		io.Writer
	}{a.tty, a.stderr}, "")
	text, err := screen.ReadPassword(prompt)
	return text, errors.Join(err, xterm.Restore(int(a.tty.Fd()), before))
}

func (a *asker) say(line string) { _, _ = fmt.Fprintln(a.stderr, line) }
