// Package requests has the verbs that ask a Request Manager about requests: start
// one, look at it, wait for it, stop it, find it. A file has a verb.
package requests

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
)

// Verbs returns the verbs of requests. What they read that is no argument, such as
// missing args, comes from stdin.
func Verbs(m *verb.Manager, stdin io.Reader) []*cobra.Command {
	return []*cobra.Command{
		startVerb(m, stdin), statusVerb(m), infoVerb(m), logVerb(m), stopVerb(m), watchVerb(m),
		findVerb(m), psVerb(m), runningVerb(m), requestsVerb(m),
	}
}

// requestID is the id that a verb is given; only the Request Manager knows
// whether there is such a request.
func requestID(args []string) string { return strings.TrimSpace(args[0]) }

// jobs writes how many jobs of a request are complete, of all.
func jobs(r proto.Request) string {
	return fmt.Sprintf("%d/%d", r.FinishedJobs, r.TotalJobs)
}

// withoutChain is a request as verbs print it that show none of its jobs.
func withoutChain(r proto.Request) proto.Request {
	r.JobChain = nil
	return r
}
