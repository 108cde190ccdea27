package cmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/treadle-run/treadle/proto"
)

// terminal returns the file if f is a terminal.
func terminal(f any) (*os.File, bool) {
	file, ok := f.(*os.File)
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return nil, false
	}
	return file, true
}

// ask asks the user for the args on the terminal and adds them to args. A value
// that cannot be right is asked for again. Questions go to stderr, so that
// stdout has results alone.
func (p *program) ask(ctx context.Context, tty *os.File, wanted []proto.RequestArg, args proto.Values) error {
	in := bufio.NewReader(tty)
	for _, a := range wanted {
		for {
			text, err := p.askOne(ctx, tty, in, a)
			if err != nil {
				return err
			}
			v, err := argValue(a.ValueType, text, false)
			if err == nil {
				args[a.Name] = v
				break
			}
			p.say("  %v", err)
		}
	}
	return nil
}

func (p *program) askOne(ctx context.Context, tty *os.File, in *bufio.Reader, a proto.RequestArg) (string, error) {
	text, err := p.read(ctx, tty, in, question(a), a.Secret)
	switch {
	case errors.Is(err, io.EOF):
		p.say("")
		return "", usageErrorf("no value for arg %s", a.Name)
	case err != nil:
		p.say("")
		return "", err
	}
	return text, nil
}

// question is what is asked: "host (Host to stop) [int; one of 1, 2]: ".
func question(a proto.RequestArg) string {
	var b strings.Builder
	b.WriteString(clean(a.Name))
	if a.Desc != "" {
		fmt.Fprintf(&b, " (%s)", clean(a.Desc))
	}
	var hints []string
	if a.ValueType != "" && a.ValueType != "string" {
		hints = append(hints, a.ValueType)
	}
	if len(a.Enum) > 0 {
		hints = append(hints, "one of "+enum(a.Enum))
	}
	if a.Pattern != "" {
		hints = append(hints, "matches "+clean(a.Pattern))
	}
	if a.Secret {
		hints = append(hints, "not shown")
	}
	if len(hints) > 0 {
		fmt.Fprintf(&b, " [%s]", strings.Join(hints, "; "))
	}
	return b.String() + ": "
}

func enum(values []any) string {
	texts := make([]string, len(values))
	for i, v := range values {
		texts[i] = clean(proto.Text(v))
	}
	return strings.Join(texts, ", ")
}

// read asks for a line on the terminal; a secret one is not shown. When ctx ends
// it returns at once and leaves the read behind: nothing can interrupt it, and the
// program ends next.
func (p *program) read(ctx context.Context, tty *os.File, in *bufio.Reader, prompt string, secret bool) (string, error) {
	type line struct {
		text string
		err  error
	}
	before, err := term.GetState(int(tty.Fd()))
	if err != nil {
		return "", err
	}
	lines := make(chan line, 1)
	go func() {
		ask := p.readPlain
		if secret {
			ask = p.readSecret
		}
		text, err := ask(tty, in, prompt)
		lines <- line{text, err}
	}()
	select {
	case l := <-lines:
		return l.text, l.err
	case <-ctx.Done():
		return "", errors.Join(ctx.Err(), term.Restore(int(tty.Fd()), before))
	}
}

func (p *program) readPlain(_ *os.File, in *bufio.Reader, prompt string) (string, error) {
	if _, err := fmt.Fprint(p.stderr, prompt); err != nil {
		return "", err
	}
	s, err := in.ReadString('\n')
	if s != "" && errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.TrimRight(s, "\r\n"), err
}

// readSecret turns the echo off before it asks: whoever answers at once must not
// be shown.
func (p *program) readSecret(tty *os.File, _ *bufio.Reader, prompt string) (string, error) {
	before, err := term.MakeRaw(int(tty.Fd()))
	if err != nil {
		return "", err
	}
	screen := term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{tty, p.stderr}, "")
	text, err := screen.ReadPassword(prompt)
	return text, errors.Join(err, term.Restore(int(tty.Fd()), before))
}
