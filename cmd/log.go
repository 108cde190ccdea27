package cmd

import (
	"bytes"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/proto"
)

func (p *program) logVerb() *cobra.Command {
	var full bool
	c := &cobra.Command{
		Use:   "log ID [JOB]",
		Short: "Show the tries of the jobs of a request, and why jobs failed",
		Example: `  treadle log d3k1b2v0s5mg00a1b2c0
  treadle log d3k1b2v0s5mg00a1b2c0 copy-3 --full`,
		Args: takes(1, 2, "the ID of the request and, if wanted, of one JOB"),
		RunE: func(c *cobra.Command, args []string) error {
			api, err := p.client()
			if err != nil {
				return err
			}
			entries, err := api.JobLog(c.Context(), requestID(args))
			if err != nil {
				return err
			}
			if len(args) == 2 {
				entries = slices.DeleteFunc(entries, func(e proto.JobLog) bool { return e.JobID != args[1] })
				if len(entries) == 0 {
					return usageErrorf("request %s has no try of a job %q that ended", requestID(args), args[1])
				}
			}
			if p.json() {
				return p.printJSON(entries)
			}
			return p.log(entries, full)
		},
	}
	c.Flags().BoolVar(&full, "full", false, "all that the jobs wrote, byte for byte")
	return p.clientVerb(c)
}

func (p *program) log(entries []proto.JobLog, full bool) error {
	t := newTable(p.stdout, "JOB", "NAME", "TRY", "STATE", "STARTED", "TOOK", "EXIT", "ERROR")
	for _, e := range entries {
		t.row(e.JobID, e.Name, fmt.Sprint(e.Try), e.State.String(), time.Unix(0, e.StartedAt).Local().Format(timeLayout),
			length(time.Duration(e.FinishedAt-e.StartedAt)), fmt.Sprint(e.Exit), orDash(short(e.Error, 60)))
	}
	if err := t.flush(); err != nil {
		return err
	}
	for _, e := range entries {
		var err error
		switch {
		case full:
			err = p.printOutput(e, nil)
		case e.State == proto.StateFail:
			err = p.printOutput(e, lastLines)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// printOutput prints what one try wrote, each stream through cut if there is one.
func (p *program) printOutput(e proto.JobLog, cut func([]byte) []byte) error {
	stdout, stderr := e.Output()
	if e.Error == "" && len(stdout)+len(stderr) == 0 {
		return nil
	}
	if err := p.printf("\n%s (%s), try %d: %s\n", e.JobID, clean(e.Name), e.Try, e.State); err != nil {
		return err
	}
	if e.Error != "" {
		if err := p.printf("error: %s\n", e.Error); err != nil {
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
		if err := p.printf("%s:\n%s", s.name, s.text); err != nil {
			return err
		}
		if !bytes.HasSuffix(s.text, []byte("\n")) {
			if err := p.printf("\n"); err != nil {
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
	out := bytes.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && isUnsafe(r) {
			return ' '
		}
		return r
	}, b[start:])
	if start > 0 {
		out = append([]byte("...\n"), out...)
	}
	return out
}
