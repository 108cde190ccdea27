// Faults is the torture test: it runs a whole Treadle (Request Managers, Job
// Runners and a database, each a process of its own on this machine), gives it
// work, and for as long as it is told kills, freezes and cuts off whatever it can.
// Then it heals everything, waits for all requests to end, and checks that nothing
// was lost and nothing ran twice.
//
//	go run ./test/faults                          10 minutes on a private MariaDB
//	go run ./test/faults -for 1m -db sqlite       with one Request Manager, on SQLite
//	go run ./test/faults -db galera               on a cluster of three nodes
//	go run ./test/faults -seed 7 -plan            only prints the faults of a seed
//
// The same seed gives the same faults at the same times. The exit code is 1 if
// there was a violation; then the directory with all logs is kept, and named.
//
// What it cannot do is move the clock of a process: Go programs do not ask libc for
// it. Tests in virtual time do that.
//
// The checker shares no code with Treadle: it reads the database with SQL of its
// own, the lines that the jobs themselves wrote, and /proc.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// options are those of the command line.
type options struct {
	db       string
	length   time.Duration // of the time with faults
	seed     uint64
	rms, jrs int
	rate     float64       // requests per second
	gap      time.Duration // at most, from one fault to the next
	bin      string        // treadle binary; "" builds one
	race     bool          // build it with the race detector
	dir      string        // for logs; "" is a temporary one
	keep     bool          // the directory, also without violations
	// settle is how long all requests may take to end once everything is well.
	settle time.Duration
	plan   bool
	// say prints progress.
	say func(format string, args ...any)
}

func defaults() options {
	return options{
		db: onMariaDB, length: 10 * time.Minute, seed: 1, rms: 2, jrs: 3, rate: 4, gap: 5 * time.Second, settle: 3 * time.Minute,
		say: func(format string, args ...any) { fmt.Printf(format+"\n", args...) },
	}
}

func main() {
	o := defaults()
	flag.StringVar(&o.db, "db", o.db, "mariadb, sqlite, or galera: a cluster of three nodes")
	flag.DurationVar(&o.length, "for", o.length, "how long there are faults")
	flag.Uint64Var(&o.seed, "seed", o.seed, "of the faults")
	flag.IntVar(&o.rms, "rms", o.rms, "Request Managers; on SQLite there is one")
	flag.IntVar(&o.jrs, "jrs", o.jrs, "Job Runners")
	flag.Float64Var(&o.rate, "rate", o.rate, "requests per second")
	flag.DurationVar(&o.gap, "gap", o.gap, "at most from one fault to the next; long ones let one be over before the next")
	flag.StringVar(&o.bin, "bin", "", "treadle binary; default: one is built")
	flag.BoolVar(&o.race, "race", false, "build it with the race detector")
	flag.StringVar(&o.dir, "dir", "", "where logs and reports go; default: a temporary directory")
	flag.BoolVar(&o.keep, "keep", false, "keep the directory also if all is well")
	flag.DurationVar(&o.settle, "settle", o.settle, "how long requests may take to end afterwards")
	flag.BoolVar(&o.plan, "plan", false, "print the faults and do nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	r, err := torture(ctx, o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(2)
	}
	if r != nil && len(r.Violations) > 0 {
		os.Exit(1)
	}
}
