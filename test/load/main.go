// Load measures a whole Treadle: one Request Manager, one Job Runner and a
// database, each a process of its own on this machine, and a client that calls
// them over HTTP. It prints a Markdown table.
//
//	go run ./test/load                    every workload, on a private MariaDB
//	go run ./test/load -only W1,W2        some
//	go run ./test/load -db sqlite         on SQLite
//
// The MariaDB is started in a temporary directory with its durable defaults.
// Everything listens on 127.0.0.1 and is stopped at the end.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// workload is one thing that is measured.
type workload struct {
	name string
	what string
	run  func(ctx context.Context, o options, r *report) error
}

// options are those of the command line.
type options struct {
	db       string
	bin      string
	callers  []int
	requests int
	rows     int
	apps     int
	idleApps int
}

func workloads() []workload {
	return []workload{
		{"W1", "requests of 3 sequential noop jobs, until all are COMPLETE in the database", throughput},
		{"W2", "the same, one at a time on an idle system", latency},
		{"W3", "one request: each over many, and a long line", wide},
		{"W4", "200 requests suspended by SIGTERM, until all are RUNNING on a new runner", resume},
		{"W5", "lists", lists},
		{"W6", "start with 5,000 sequences in 500 files", startUp},
		{"W7", "memory of a runner with 1,000 chains of 100 sleeping jobs", memory},
		{"W8", "apps that are due in the same minute, a request of one no-op each", due},
		{"W9", "an engine that has nothing to do", idle},
	}
}

func main() {
	var o options
	only := flag.String("only", "", "workloads to run, such as W1,W4; default: all")
	flag.StringVar(&o.db, "db", "mariadb", "mariadb or sqlite")
	flag.StringVar(&o.bin, "bin", "", "treadle binary; default: one is built")
	flag.IntVar(&o.requests, "requests", 2000, "requests of W1")
	o.callers = []int{1, 8, 32}
	flag.Func("callers", "numbers of callers of W1, such as 8,32", func(list string) error {
		o.callers = nil
		for one := range strings.SplitSeq(list, ",") {
			n, err := strconv.Atoi(one)
			if err != nil {
				return err
			}
			o.callers = append(o.callers, n)
		}
		return nil
	})
	flag.IntVar(&o.rows, "rows", 1_000_000, "finished requests of W5")
	flag.IntVar(&o.apps, "apps", 10_000, "apps of W8")
	flag.IntVar(&o.idleApps, "idle-apps", 100_000, "apps of W9")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Minute)
	defer cancel()
	if err := run(ctx, o, *only); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, only string) error {
	if o.bin == "" {
		bin, remove, err := build(ctx)
		if err != nil {
			return err
		}
		defer remove()
		o.bin = bin
	}
	r := newReport(o)
	for _, w := range workloads() {
		if only != "" && !strings.Contains(","+only+",", ","+w.name+",") {
			continue
		}
		r.section(w)
		if err := w.run(ctx, o, r); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}
