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

// Verbs returns the verbs of requests. From stdin they read missing args, and the file
// of args that is called "-".
func Verbs(m *verb.Manager, stdin io.Reader) []*cobra.Command {
	return []*cobra.Command{
		startVerb(m, stdin), statusVerb(m), infoVerb(m), logVerb(m), stopVerb(m), watchVerb(m),
		findVerb(m), psVerb(m), runningVerb(m), requestsVerb(m),
	}
}

// requestID is the id that a verb is given. Whether there is such a request, the
// Request Manager knows.
func requestID(args []string) string { return strings.TrimSpace(args[0]) }

// jobs writes how many jobs of a request are complete, of all.
func jobs(r proto.Request) string {
	return fmt.Sprintf("%d/%d", r.FinishedJobs, r.TotalJobs)
}

// withoutChain is the request without its jobs, as most verbs print it.
func withoutChain(r proto.Request) proto.Request {
	r.JobChain = nil
	return r
}
