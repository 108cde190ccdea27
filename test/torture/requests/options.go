// Package requests is the torture test of requests: it runs a whole Treadle (Request
// Managers, Job Runners and a database, each a process of its own on this machine),
// gives it work, and for as long as it is told kills, freezes and cuts off whatever it
// can. Then it heals everything, waits for all requests to end, and checks that
// nothing was lost and nothing ran twice.
//
// What it cannot do is move the clock of a process: Go programs do not ask libc for
// it. Tests in virtual time do that.
//
// The checker (package audit) shares no code with Treadle: it reads the database with
// SQL of its own, and the lines that the jobs themselves wrote. The test reads /proc.
package requests

import (
	"errors"
	"fmt"
	"time"

	"github.com/treadle-run/treadle/test/torture"
)

// Options say how a test runs.
type Options struct {
	Program  string // treadle
	DB       string // kind of the database
	For      time.Duration
	Seed     uint64
	RMs, JRs int
	Rate     float64       // requests per second
	Gap      time.Duration // limit from one fault to the next
	// Dir is where logs and reports go; "" is a temporary directory, which is removed
	// if all was well, but with Keep.
	Dir  string
	Keep bool
	// Settle is how long all requests may take to end once everything is well.
	Settle time.Duration
	Say    torture.Say
}

// Defaults are those of the command line.
func Defaults() Options {
	return Options{
		DB: torture.OnMariaDB, For: 10 * time.Minute, Seed: 1, RMs: 2, JRs: 3, Rate: 4, Gap: 5 * time.Second, Settle: 3 * time.Minute,
	}
}

// Validate says what is wrong with the options.
func (o *Options) Validate() error {
	_, err := torture.Servers(o.DB)
	errs := []error{err}
	wrong := func(bad bool, format string, args ...any) {
		if bad {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	wrong(o.For <= 0, "--for must be more than 0")
	wrong(o.RMs < 1 || o.RMs > 64, "--rms must be from 1 to 64")
	wrong(o.JRs < 1 || o.JRs > 64, "--jrs must be from 1 to 64")
	wrong(o.Rate <= 0 || o.Rate > 10_000, "--rate must be more than 0, and 10000 at the most")
	wrong(o.Gap < 10*time.Millisecond, "--gap must be from 10ms")
	wrong(o.Settle <= 0, "--settle must be more than 0")
	return errors.Join(errs...)
}

// The times that Treadle is given. Short ones, so that much happens.
const (
	shortLease = 5 * time.Second
	// galeraLease is longer than a cluster stands still when it loses a node.
	galeraLease  = 15 * time.Second
	claimTimeout = 15 * time.Second
)

// lease is that of all runners.
func (o *Options) lease() time.Duration {
	if o.DB == torture.OnGalera {
		return galeraLease
	}
	return shortLease
}

// leaseEnd is when a runner that is not seen counts as lost: after its lease and the
// margin that managers have.
func (o *Options) leaseEnd() time.Duration { return o.lease() + 5*time.Second }
