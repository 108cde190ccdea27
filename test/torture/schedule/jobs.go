package schedule

import (
	"fmt"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/torture/schedule/audit"
)

// Prefix begins the names of all apps that tests make.
const Prefix = "torture-"

func runPrefix(run string) string { return Prefix + run + "-" }

// artifactsTable is the table of a run. The run is of letters and digits.
func artifactsTable(run string) string { return "torture_artifacts_" + run }

// policies are taken in turn by the jobs that have a time of their own.
var policies = []struct{ overlap, missed string }{
	{"queue", "all"}, {"allow", "all"}, {"skip", "last"}, {"queue", "last"}, {"skip", "none"}, {"allow", "last"},
}

// group is how many jobs are made alike: the last of each depends on the first two.
const group = 5

// jobs returns the jobs of a run, each as an app and as the auditor knows it. Those
// that others depend on lose no period, so that these have something to do.
func jobs(run string, n int, scale time.Duration) ([]proto.App, []audit.Job) {
	var apps []proto.App
	var known []audit.Job
	for i := range n {
		app := proto.App{Name: jobName(run, i), Request: "torture", Undo: "torture"}
		job := audit.Job{App: app.Name}
		if g, k := i/group, i%group; k == group-1 {
			job.Upstream = []string{jobName(run, i-4), jobName(run, i-3)}
			job.Period = time.Duration(1+g%2) * known[i-4].Every
			app.Depends = map[string]string{}
			for _, up := range job.Upstream {
				app.Depends[up] = job.Period.String()
			}
			job.Allow = g%3 == 0
			app.Overlap = "queue"
			if job.Allow {
				app.Overlap = "allow"
			}
		} else {
			units := 5 + i%5
			p := policies[(g+k)%len(policies)]
			if k < 2 {
				p, units = policies[k], 5+g%5 // both alike
			}
			job.Every = time.Duration(units) * scale
			job.Allow = p.overlap == "allow"
			app.Every, app.Overlap, app.Missed = proto.Duration(job.Every), p.overlap, p.missed
			if k == 3 {
				app.FailureDelay = proto.Seconds(scale)
			}
		}
		apps, known = append(apps, app), append(known, job)
	}
	return apps, known
}

func jobName(run string, i int) string { return fmt.Sprintf("%s%03d", runPrefix(run), i) }
