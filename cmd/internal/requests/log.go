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
		Short: "Show the job log of a request: each finished try, and why tries failed",
		Example: `  treadle log d3k1b2v0s5mg00a1b2c0
  treadle log d3k1b2v0s5mg00a1b2c0 copy-3 --full`,
		Args: verb.Takes(1, 2, "the ID of the request and, optionally, of one JOB"),
	}, func(ctx context.Context, api *client.Client, out *term.Out, args []string) error {
		entries, err := api.JobLog(ctx, requestID(args))
		if err != nil {
			return err
		}
		if len(args) == 2 {
			entries = slices.DeleteFunc(entries, func(e proto.JobLog) bool { return e.JobID != args[1] })
			if len(entries) == 0 {
				return verb.Usagef("request %[1]s has no finished try of a job %[2]q; treadle log %[1]s lists all tries", requestID(args), args[1])
			}
		}
		return out.Show(entries, func() error { return log(out, entries, full) })
	})
	c.Flags().BoolVar(&full, "full", false, "print the whole output of each try, byte for byte")
	return c
}

func log(out *term.Out, entries []proto.JobLog, full bool) error {
	t := out.Table("JOB", "NAME", "TRY", "STATE", "STARTED", "TOOK", "EXIT", "ERROR")
	for _, e := range entries {
		t.Row(e.JobID, e.Name, fmt.Sprint(e.Try), e.State.String(), time.Unix(0, e.StartedAt),
			term.Length(time.Duration(e.FinishedAt-e.StartedAt)), fmt.Sprint(e.Exit), term.OrDash(term.Short(e.Error, 60)))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, e := range entries {
		if !full && e.State != proto.StateFail {
			continue
		}
		if err := printOutput(out, e, full); err != nil {
			return err
		}
	}
	return nil
}

// printOutput prints the output of one try: all of it, byte for byte, if full is set;
// else the last lines, safe for a terminal.
func printOutput(out *term.Out, e proto.JobLog, full bool) error {
	stdout, stderr := e.Output()
	if e.Error == "" && len(stdout)+len(stderr) == 0 {
		return nil
	}
	if err := out.Printf("\n%s (%s), try %d: %s\n", e.JobID, term.Clean(e.Name), e.Try, e.State); err != nil {
		return err
	}
	if e.Error != "" {
		message := []byte(e.Error)
		if !full {
			message = term.CleanLines(message)
		}
		if err := out.Printf("error: %s\n", message); err != nil {
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
		if !full {
			s.text = lastLines(s.text)
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

// lastLines is the end of an output, made safe for a terminal.
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
