// Command example is a treadle of its own: it has all verbs and services of
// treadle and one more job type, files/checksum.
//
//	go run ./docs/example dev --specs docs/example/specs
//	go run ./docs/example start checksum dir=/etc/ssl --wait
package main

import (
	"github.com/treadle-run/treadle/cmd"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/job/builtin"
)

func main() { cmd.Main(registry()) }

// registry returns the job types that come with Treadle, and ours.
func registry() *job.Registry {
	r := builtin.Registry()
	r.Register("files/checksum", func() job.Job { return &checksum{} })
	return r
}
