package tools

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rs/xid"
	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/argtext"
	"github.com/treadle-run/treadle/cmd/internal/levels"
	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/grapher"
	"github.com/treadle-run/treadle/grapher/problem"
	"github.com/treadle-run/treadle/internal/mask"
	"github.com/treadle-run/treadle/proto"
)

// GraphVerb shows the jobs that a request would run.
func GraphVerb(specs Specs, out *term.Out) *cobra.Command {
	var f specsFlags
	c := &cobra.Command{
		Use:   "graph TYPE [arg=value ...]",
		Short: "Show which jobs a request would run, and in which order",
		Long: `Builds the job chain of a request from the specs and shows it. Nothing runs, and no
Request Manager is asked; only the Create method of each job is called, as it is when
a request is created. Jobs of the same level may run in parallel.`,
		Example: `  treadle graph deploy app=shop hosts=a,b,c
  treadle graph deploy app=shop hosts=a,b,c --specs ./specs --output json`,
		Args: verb.Takes(1, -1, "the TYPE of the request"),
		RunE: func(c *cobra.Command, args []string) error {
			loaded, problems, err := specs.load(f)
			if err != nil {
				return err
			}
			if problems.HasErrors() {
				sayProblems(out, problems)
				return errSpecs
			}
			jc, err := buildChain(c.Context(), loaded, args[0], args[1:])
			if err != nil {
				return err
			}
			return out.Show(jc, func() error { return graph(out, args[0], jc) })
		},
	}
	f.register(c)
	c.Flags().StringVar(&f.dir, "specs", "", "`directory` with the specs (default specs.dir of the configuration, or ./specs)")
	return verb.OutputFlag(c, out)
}

// sayProblems prints the errors among the problems to stderr.
func sayProblems(out *term.Out, problems problem.List) {
	for _, x := range problems {
		if x.Severity == problem.Error {
			out.Say("%s", term.Clean(x.String()))
		}
	}
}

func buildChain(ctx context.Context, specs *grapher.Specs, requestType string, words []string) (*proto.JobChain, error) {
	requests := specs.Requests()
	spec, err := argtext.SpecOf(requests, requestType, requestsThere(requests))
	if err != nil {
		return nil, err
	}
	given, err := argtext.Parse(spec, words)
	if err != nil {
		return nil, err
	}
	args, _, secrets, err := specs.RequestArgs(requestType, given)
	if err != nil {
		return nil, err
	}
	jc, err := specs.Build(ctx, xid.New().String(), requestType, args, secrets)
	if err != nil {
		return nil, err
	}
	hideSecrets(jc)
	return jc, nil
}

// requestsShown is how many request types an error names.
const requestsShown = 20

// requestsThere lists the request types of the specs, for an error.
func requestsThere(requests []proto.RequestSpec) string {
	if len(requests) == 0 {
		return "no sequence of the specs has request: true"
	}
	var names []string
	for _, r := range requests[:min(len(requests), requestsShown)] {
		names = append(names, term.Clean(r.Name))
	}
	s := "the specs have " + strings.Join(names, ", ")
	if more := len(requests) - len(names); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// hideSecrets removes or masks everything in the chain that may contain the value of a
// secret arg.
func hideSecrets(jc *proto.JobChain) {
	if len(jc.Secrets) == 0 {
		return
	}
	m := mask.New(jc.Secrets)
	jc.Secrets = nil
	for _, j := range jc.Jobs {
		j.Bytes = nil
		j.Args = m.Values(j.Args)
	}
}

func graph(out *term.Out, name string, jc *proto.JobChain) error {
	all := levels.Of(jc)
	depth := 0
	if len(all) > 0 {
		depth = all[len(all)-1].Level
	}
	if err := out.Printf("%s: %s, %s, %s\n\n", term.Clean(name), term.Count(int(jc.TotalJobs()), "job"),
		term.Count(depth, "level"), term.Count(len(jc.Sequences), "sequence")); err != nil {
		return err
	}
	t := out.Table("LEVEL", "JOB", "TYPE", "AFTER", "RETRY", "SEQUENCE")
	for _, j := range all {
		jobType := j.Type
		if j.Structural {
			jobType = "(structural)"
		}
		t.Row(fmt.Sprint(j.Level), j.ID, jobType, after(j.After), jobRetry(j.Job), sequencePath(jc, j.SequenceID))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return graphSequences(out, jc)
}

// namesInCell is how many ids one cell lists.
const namesInCell = 4

func after(ids []string) string {
	slices.SortFunc(ids, levels.CompareIDs)
	if more := len(ids) - namesInCell; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:namesInCell], " "), more)
	}
	return term.OrDash(strings.Join(ids, " "))
}

func jobRetry(j *proto.Job) string {
	s := term.Retry(j.Retry, j.RetryWait, j.RetryBackoff, j.RetryWaitMax)
	if j.Timeout != 0 {
		s += ", timeout " + j.Timeout.String()
	}
	if j.NotIdempotent {
		s += ", not idempotent"
	}
	return strings.TrimPrefix(s, term.Dash+", ")
}

// sequencePath names the sequences around a job, outermost first.
func sequencePath(jc *proto.JobChain, id string) string {
	var names []string
	for range len(jc.Sequences) {
		s, ok := jc.Sequences[id]
		if !ok {
			break
		}
		names = append(names, s.Name)
		id = s.Parent
	}
	slices.Reverse(names)
	return term.OrDash(strings.Join(names, " > "))
}

// graphSequences lists the sequences that have a retry, a timeout or a parallel limit.
func graphSequences(out *term.Out, jc *proto.JobChain) error {
	var ids []string
	for id, s := range jc.Sequences {
		if s.Retry > 0 || s.Timeout != 0 || s.Group != "" {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.SortFunc(ids, levels.CompareIDs)
	if err := out.Printf("\n"); err != nil {
		return err
	}
	t := out.Table("SEQUENCE", "FIRST JOB", "RETRY", "TIMEOUT", "PARALLEL")
	for _, id := range ids {
		s := jc.Sequences[id]
		t.Row(sequencePath(jc, id), id, term.Retry(s.Retry, s.RetryWait, s.RetryBackoff, s.RetryWaitMax), term.OrDash(s.Timeout.String()), parallel(jc, s.Group))
	}
	return t.Flush()
}

// parallel says how many members of the group may run at a time.
func parallel(jc *proto.JobChain, group string) string {
	if group == "" {
		return term.Dash
	}
	return fmt.Sprintf("%d at a time (%s)", jc.Parallel[group], group)
}
