// Schedule is the torture test of the schedule engine on a database that it starts
// itself, so that it can kill that as well. On a cluster, each member uses one node,
// and has no database while that is away.
//
//	go run ./test/schedule                         10 minutes on a private MariaDB
//	go run ./test/schedule -for 1m -db sqlite      one member, on SQLite
//	go run ./test/schedule -for 30m -db galera     on a cluster of three nodes
//	go run ./test/schedule -seed 7 -plan           only prints the faults of a seed
//
// It does what `treadle torture schedule` does on a database of the user's. The exit
// code is 1 if there was a violation.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/treadle-run/treadle/request-manager/schedule/torture"
)

// options are those of the command line.
type options struct {
	torture.Options
	db   string
	race bool // build the members with the race detector
}

func main() {
	o := options{Options: torture.Defaults()}
	plan := flag.Bool("plan", false, "print the faults and do nothing")
	flag.StringVar(&o.db, "db", onMariaDB, "mariadb, sqlite, or galera: a cluster of three nodes")
	flag.DurationVar(&o.For, "for", o.For, "how long there are faults")
	flag.Uint64Var(&o.Seed, "seed", o.Seed, "of the faults")
	flag.IntVar(&o.Members, "members", o.Members, "processes that run jobs; on SQLite there is one")
	flag.IntVar(&o.Jobs, "jobs", o.Jobs, "jobs, each with a period of 5 to 9 times the scale")
	flag.DurationVar(&o.Scale, "scale", o.Scale, "unit of all times")
	flag.IntVar(&o.Slack, "slack", o.Slack, "how many times longer to wait for what must come, on a slow machine")
	flag.StringVar(&o.Program, "bin", "", "treadle binary; default: one is built")
	flag.StringVar(&o.Dir, "dir", "", "where logs and traces go; default: a temporary directory, kept if something is wrong")
	flag.BoolVar(&o.race, "race", false, "build the binary with the race detector")
	flag.Parse()
	o.Say = func(format string, args ...any) { fmt.Printf(format+"\n", args...) }
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *plan {
		o.printPlan()
		return
	}
	r, err := run(ctx, o)
	if r != nil {
		fmt.Print(r)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "schedule:", err)
		os.Exit(2)
	}
	if len(r.Violations) > 0 {
		os.Exit(1)
	}
}

func (o options) printPlan() {
	o.Servers = make([]torture.Server, servers[o.db])
	if o.db == onSQLite {
		o.Store.SQLitePath, o.Members = "any", 1
	}
	for _, f := range torture.Plan(o.Options) {
		fmt.Println(f)
	}
}
