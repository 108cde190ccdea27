package cmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rs/xid"
	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/grapher"
	"github.com/treadle-run/treadle/internal/mask"
	"github.com/treadle-run/treadle/proto"
)

func (p *program) graphVerb() *cobra.Command {
	var f specsFlags
	c := &cobra.Command{
		Use:   "graph TYPE [arg=value ...]",
		Short: "Show the jobs that a request would run, and in which order",
		Long: `Builds the job chain of a request from the specs and shows it; nothing runs, and no
Request Manager is asked. Jobs of one level may run at the same time. Job types
are asked what they would do, as they are when a request is created.`,
		Example: `  treadle graph deploy app=shop hosts=a,b,c
  treadle graph deploy app=shop hosts=a,b,c --specs ./specs --output json`,
		Args: takes(1, -1, "the TYPE of the request"),
		RunE: func(c *cobra.Command, args []string) error {
			specs, problems, err := p.loadSpecs(f)
			if err != nil {
				return err
			}
			if problems.HasErrors() {
				p.sayProblems(problems)
				return errSpecs
			}
			jc, err := buildChain(c.Context(), specs, args[0], args[1:])
			if err != nil {
				return err
			}
			if p.json() {
				return p.printJSON(jc)
			}
			return p.graph(args[0], jc)
		},
	}
	f.register(c)
	c.Flags().StringVar(&f.dir, "specs", "", "`directory` with the specs (default specs.dir of the configuration, or ./specs)")
	return p.outputVerb(c)
}

// sayProblems prints the errors among the problems to stderr.
func (p *program) sayProblems(problems grapher.Problems) {
	for _, x := range problems {
		if x.Severity == grapher.SeverityError {
			p.say("%s", clean(x.String()))
		}
	}
}

func buildChain(ctx context.Context, specs *grapher.Specs, requestType string, words []string) (*proto.JobChain, error) {
	requests := specs.Requests()
	spec, err := specOf(requests, requestType, requestsThere(requests))
	if err != nil {
		return nil, err
	}
	given, err := parseArgs(spec, words)
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

// requestsShown is how many requests an error names.
const requestsShown = 20

// requestsThere says which requests the specs have: no Request Manager can be
// asked for those.
func requestsThere(requests []proto.RequestSpec) string {
	if len(requests) == 0 {
		return "no sequence of the specs has request: true"
	}
	var names []string
	for _, r := range requests[:min(len(requests), requestsShown)] {
		names = append(names, clean(r.Name))
	}
	s := "the specs have " + strings.Join(names, ", ")
	if more := len(requests) - len(names); more > 0 {
		s += fmt.Sprintf(" and %d more", more)
	}
	return s
}

// hideSecrets takes everything out of the chain that may have the value of a
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

func (p *program) graph(name string, jc *proto.JobChain) error {
	all := levels(jc)
	depth := 0
	if len(all) > 0 {
		depth = all[len(all)-1].level
	}
	if err := p.printf("%s: %s, %s, %s\n\n", clean(name), count(int(jc.TotalJobs()), "job"),
		count(depth, "level"), count(len(jc.Sequences), "sequence")); err != nil {
		return err
	}
	t := newTable(p.stdout, "LEVEL", "JOB", "TYPE", "AFTER", "RETRY", "SEQUENCE")
	for _, l := range all {
		jobType := l.job.Type
		if l.job.Structural {
			jobType = "(joint)"
		}
		t.row(fmt.Sprint(l.level), l.job.ID, jobType, after(l.after), jobRetry(l.job), sequencePath(jc, l.job.SequenceID))
	}
	if err := t.flush(); err != nil {
		return err
	}
	return p.graphSequences(jc)
}

// namesInCell is how many ids one cell has.
const namesInCell = 4

func after(ids []string) string {
	slices.SortFunc(ids, compareIDs)
	if more := len(ids) - namesInCell; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(ids[:namesInCell], " "), more)
	}
	return orDash(strings.Join(ids, " "))
}

func jobRetry(j *proto.Job) string {
	s := retryText(j.Retry, j.RetryWait, j.RetryBackoff, j.RetryWaitMax)
	if j.Timeout != 0 {
		s += ", timeout " + j.Timeout.String()
	}
	if j.NotIdempotent {
		s += ", not idempotent"
	}
	return strings.TrimPrefix(s, dash+", ")
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
	return orDash(strings.Join(names, " > "))
}

// graphSequences lists the sequences that have something to say.
func (p *program) graphSequences(jc *proto.JobChain) error {
	var ids []string
	for id, s := range jc.Sequences {
		if s.Retry > 0 || s.Timeout != 0 || s.Group != "" {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	slices.SortFunc(ids, compareIDs)
	if err := p.printf("\n"); err != nil {
		return err
	}
	t := newTable(p.stdout, "SEQUENCE", "FIRST JOB", "RETRY", "TIMEOUT", "PARALLEL")
	for _, id := range ids {
		s := jc.Sequences[id]
		t.row(sequencePath(jc, id), id, retryText(s.Retry, s.RetryWait, s.RetryBackoff, s.RetryWaitMax), orDash(s.Timeout.String()), parallel(jc, s.Group))
	}
	return t.flush()
}

// parallel says how many members of the group may run at a time.
func parallel(jc *proto.JobChain, group string) string {
	if group == "" {
		return dash
	}
	return fmt.Sprintf("%d at a time (%s)", jc.Parallel[group], group)
}
