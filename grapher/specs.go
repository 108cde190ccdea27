package grapher

import (
	"github.com/treadle-run/treadle/grapher/check"
	"github.com/treadle-run/treadle/grapher/spec"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// Limits bounds what specs and requests may ask for.
type Limits struct {
	Jobs     int // jobs in one chain
	Depth    int // nested sequences
	FileSize int // bytes of one spec file
}

// DefaultLimits are the limits of a configuration that says nothing.
var DefaultLimits = Limits{Jobs: 200_000, Depth: 50, FileSize: 4 << 20}

// fill sets limits that are 0 to their default.
func (l *Limits) fill() {
	if l.Jobs == 0 {
		l.Jobs = DefaultLimits.Jobs
	}
	if l.Depth == 0 {
		l.Depth = DefaultLimits.Depth
	}
	if l.FileSize == 0 {
		l.FileSize = DefaultLimits.FileSize
	}
}

// Specs has all sequences and apps of a specs directory, which passed the checks. It
// never changes, and is safe for concurrent use.
type Specs struct {
	Sequences spec.Sequences
	Apps      []spec.App // by name

	registry *job.Registry
	limits   Limits
}

// CheckApp returns what is wrong with an app; others has all other apps by name. It is
// the same check for apps in spec files and for those that come over the API.
func (s *Specs) CheckApp(a proto.App, others map[string]proto.App) []check.AppProblem {
	return check.App(s.Sequences, a, others)
}
