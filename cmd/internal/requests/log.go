package requests

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

func logVerb(m *verb.Manager) *cobra.Command {
	var full bool
	c := m.Verb(&cobra.Command{
		Use:   "log ID [JOB]",
		Short: "Show the tries of the jobs of a request, and why jobs failed",
		Example: `  treadle log d3k1b2v0s5mg00a1b2c0
  treadle log d3k1b2v0s5mg00a1b2c0 copy-3 --full`,
		Args: verb.Takes(1, 2, "the ID of the request and, if wanted, of one JOB"),
	}, func(ctx context.Context, api *client.Client, out *term.Out, args []string) error {
		entries, err := api.JobLog(ctx, requestID(args))
		if err != nil {
			return err
		}
		if len(args) == 2 {
			entries = slices.DeleteFunc(entries, func(e proto.JobLog) bool { return e.JobID != args[1] })
			if len(entries) == 0 {
				return verb.Usagef("request %s has no try of a job %q that ended", requestID(args), args[1])
			}
		}
		return out.Show(entries, func() error { return log(out, entries, full) })
	})
	c.Flags().BoolVar(&full, "full", false, "all that the jobs wrote, byte for byte")
	return c
}

func log(out *term.Out, entries []proto.JobLog, full bool) error {
	t := out.Table("JOB", "NAME", "TRY", "STATE", "STARTED", "TOOK", "EXIT", "ERROR")
	for _, e := range entries {
		t.Row(e.JobID, e.Name, fmt.Sprint(e.Try), e.State.String(), time.Unix(0, e.StartedAt).Local().Format(term.TimeLayout),
			term.Length(time.Duration(e.FinishedAt-e.StartedAt)), fmt.Sprint(e.Exit), term.OrDash(term.Short(e.Error, 60)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, e := range entries {
		var err error
		switch {
		case full:
			err = printOutput(out, e, nil)
		case e.State == proto.StateFail:
			err = printOutput(out, e, lastLines)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// printOutput prints what one try wrote, each stream through cut if there is one.
func printOutput(out *term.Out, e proto.JobLog, cut func([]byte) []byte) error {
	stdout, stderr := e.Output()
	if e.Error == "" && len(stdout)+len(stderr) == 0 {
		return nil
	}
	if err := out.Printf("\n%s (%s), try %d: %s\n", e.JobID, term.Clean(e.Name), e.Try, e.State); err != nil {
		return err
	}
	if e.Error != "" {
		if err := out.Printf("error: %s\n", e.Error); err != nil {
			return err
		}
	}
	for _, s := range []struct {
		name string
		text []byte
	}{{"stdout", stdout}, {"stderr", stderr}} {
		if len(s.text) == 0 {
			continue
		}
		if cut != nil {
			s.text = cut(s.text)
		}
		if err := out.Printf("%s:\n%s", s.name, s.text); err != nil {
			return err
		}
		if !bytes.HasSuffix(s.text, []byte("\n")) {
			if err := out.Printf("\n"); err != nil {
				return err
			}
		}
	}
	return nil
}

const (
	linesShown = 10
	bytesShown = 4000
)

// lastLines is the end of what a job wrote, made safe for a terminal.
func lastLines(b []byte) []byte {
	b = bytes.TrimRight(b, "\n")
	start, lines := len(b), 0
	for start > 0 && len(b)-start < bytesShown {
		if b[start-1] == '\n' {
			if lines++; lines == linesShown {
				break
			}
		}
		start--
	}
	end := term.CleanLines(b[start:])
	if start > 0 {
		end = append([]byte("...\n"), end...)
	}
	return end
}
