package grapher

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/treadle-run/treadle/grapher/check"
	"github.com/treadle-run/treadle/grapher/problem"
	"github.com/treadle-run/treadle/grapher/spec"
	"github.com/treadle-run/treadle/job"
)

// Options says how specs are read and checked.
type Options struct {
	// Registry has the job types that specs may use; nil: types are not checked.
	Registry *job.Registry
	// Warn has the names of checks that only warn: those of check.MayWarn can be made
	// to, any other name is a problem.
	Warn []string
	// Limits that are 0 are those of DefaultLimits.
	Limits Limits
}

// Load reads and checks all spec files under dir: every file that ends in .yaml
// or .yml, in any case, in all subdirectories. It follows symbolic links, and
// reads a file once even if it is there by several names.
//
// The error is that dir itself cannot be read. What is wrong with the files, also
// that one cannot be read, is in the problems; if one of them is an error, the
// specs are nil.
func Load(dir string, o Options) (*Specs, problem.List, error) {
	l := newLoader(o)
	w := walker{dirs: map[string]bool{}, files: map[string]bool{}, bad: map[string]error{}}
	if err := w.walk(dir, ""); err != nil {
		return nil, nil, fmt.Errorf("specs directory: %w", err)
	}
	slices.Sort(w.found)
	l.decode(w.found, func(name string) ([]byte, error) {
		if err := w.bad[name]; err != nil {
			return nil, err
		}
		return readFile(filepath.Join(dir, filepath.FromSlash(name)), l.limits.FileSize)
	})
	specs, problems := l.finish()
	return specs, problems, nil
}

// Parse checks spec files from memory, by their names. Unlike Load, it takes all
// of them, however their names end.
func Parse(files map[string][]byte, o Options) (*Specs, problem.List) {
	l := newLoader(o)
	names := slices.Sorted(maps.Keys(files))
	l.decode(names, func(name string) ([]byte, error) { return files[name], nil })
	return l.finish()
}

// loader gathers what the files of one set of specs have.
type loader struct {
	registry *job.Registry
	limits   Limits
	warn     map[string]bool

	sequences []*spec.Sequence
	apps      []*spec.App
	problems  problem.List
}

func newLoader(o Options) *loader {
	l := &loader{registry: o.Registry, limits: o.Limits, warn: map[string]bool{}}
	l.limits.fill()
	for _, name := range o.Warn {
		if !slices.Contains(check.MayWarn(), name) {
			l.problems = append(l.problems, problem.Problem{Check: "warn-option", Severity: problem.Error,
				Message: fmt.Sprintf("check %s cannot be made to only warn; these can: %s", problem.Quote(name), problem.QuoteAll(check.MayWarn()))})
			continue
		}
		l.warn[name] = true
	}
	return l
}

// decode reads and decodes the files, several at a time, and adds up what they
// have in the order of names.
func (l *loader) decode(names []string, read func(name string) ([]byte, error)) {
	decoded := make([]spec.File, len(names))
	severity := func(name string) problem.Severity { return check.Severity(name, l.warn) }
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range names {
		g.Go(func() error {
			b, err := read(name)
			if err != nil {
				decoded[i].Problems = problem.List{{
					File: name, Line: 1, Check: "unreadable", Severity: severity("unreadable"),
					Message: fmt.Sprintf("cannot be read: %v", withoutPath(err)),
				}}
				return nil
			}
			decoded[i] = spec.Decode(name, b, l.limits.FileSize, severity)
			return nil
		})
	}
	_ = g.Wait() // no function returns an error
	for _, f := range decoded {
		l.sequences = append(l.sequences, f.Sequences...)
		l.apps = append(l.apps, f.Apps...)
		l.problems = append(l.problems, f.Problems...)
	}
}

// withoutPath is the cause of an error of reading: the problem names the file.
func withoutPath(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// finish runs the checks that need all files.
func (l *loader) finish() (*Specs, problem.List) {
	set, found := check.Run(check.Input{Sequences: l.sequences, Apps: l.apps, Registry: l.registry, Warn: l.warn}, l.problems)
	problems := append(l.problems, found...).Sorted()
	if problems.HasErrors() {
		return nil, problems
	}
	return &Specs{Sequences: set.Sequences, Apps: set.Apps, registry: l.registry, limits: l.limits}, problems
}
