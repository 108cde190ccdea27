package grapher

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/treadle-run/treadle/job"
)

// Options says how specs are read and checked.
type Options struct {
	// Registry has the job types that specs may use; nil: types are not checked.
	Registry *job.Registry
	// Warn has the names of checks that only warn: unknown-field and parallel-sets
	// can be made to, any other name is a problem.
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
func Load(dir string, o Options) (*Specs, Problems, error) {
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
func Parse(files map[string][]byte, o Options) (*Specs, Problems) {
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

	sequences []*Sequence
	apps      []*App
	problems  Problems
}

func newLoader(o Options) *loader {
	l := &loader{registry: o.Registry, limits: o.Limits, warn: map[string]bool{}}
	l.limits.fill()
	for _, name := range o.Warn {
		if !mayWarn[name] {
			l.problems = append(l.problems, Problem{Check: "warn-option", Severity: SeverityError,
				Message: fmt.Sprintf("check %s cannot be made to only warn; these can: %s", quote(name), quoteAll(slices.Sorted(maps.Keys(mayWarn))))})
			continue
		}
		l.warn[name] = true
	}
	return l
}

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

// decode reads and decodes the files, several at a time, and adds up what they
// have in the order of names.
func (l *loader) decode(names []string, read func(name string) ([]byte, error)) {
	decoders := make([]*decoder, len(names))
	var g errgroup.Group
	g.SetLimit(runtime.GOMAXPROCS(0))
	for i, name := range names {
		g.Go(func() error {
			d := newDecoder(name, l.warn)
			decoders[i] = d
			b, err := read(name)
			if err != nil {
				d.report("unreadable", 1, "cannot be read: %v", withoutPath(err))
				return nil
			}
			d.file(b, l.limits.FileSize)
			return nil
		})
	}
	_ = g.Wait() // no function returns an error
	for _, d := range decoders {
		l.sequences = append(l.sequences, d.sequences...)
		l.apps = append(l.apps, d.apps...)
		l.problems = append(l.problems, d.problems...)
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
func (l *loader) finish() (*Specs, Problems) {
	specs := &Specs{Sequences: make(map[string]*Sequence, len(l.sequences)), registry: l.registry, limits: l.limits}
	c := newChecker(specs, l.warn, l.problems)
	for _, s := range l.sequences {
		c.addSequence(s)
	}
	for _, a := range l.apps {
		c.addApp(a)
	}
	c.run()
	problems := append(l.problems, c.problems...).sorted()
	if problems.HasErrors() {
		return nil, problems
	}
	return specs, problems
}

// walker finds spec files. A directory or file counts once, by its real path, so
// that links in a circle end.
type walker struct {
	dirs, files map[string]bool
	found       []string
	bad         map[string]error // of those found, why they cannot be read
}

// walk finds the files below dir, whose name in problems is rel. The error is
// that dir itself cannot be read.
func (w *walker) walk(dir, rel string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	if w.dirs[real] {
		return nil
	}
	w.dirs[real] = true
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	// Hidden ones last: a volume of Kubernetes has each file as a link to one in a
	// hidden directory, and should be shown by the name that people know.
	slices.SortStableFunc(entries, func(a, b os.DirEntry) int { return hidden(a) - hidden(b) })
	for _, e := range entries {
		name := path.Join(rel, e.Name())
		if err := w.entry(filepath.Join(dir, e.Name()), name, e); err != nil {
			w.found = append(w.found, name)
			w.bad[name] = err
		}
	}
	return nil
}

func hidden(e os.DirEntry) int {
	if strings.HasPrefix(e.Name(), ".") {
		return 1
	}
	return 0
}

func (w *walker) entry(file, rel string, e os.DirEntry) error {
	ext := strings.ToLower(path.Ext(e.Name()))
	isSpec := ext == ".yaml" || ext == ".yml"
	if e.Type().IsRegular() && !isSpec {
		return nil
	}
	info, err := os.Stat(file)
	switch {
	case err != nil && (hidden(e) == 1 || !isSpec):
		return nil // a broken link of an editor, or of no concern
	case err != nil:
		return err
	case info.IsDir():
		return w.walk(file, rel)
	case !isSpec:
		return nil
	case !info.Mode().IsRegular():
		return errors.New("it is no regular file")
	}
	real, err := filepath.EvalSymlinks(file)
	if err != nil {
		return err
	}
	if !w.files[real] {
		w.files[real] = true
		w.found = append(w.found, rel)
	}
	return nil
}

// readFile returns the content of a file, or its first limit+1 bytes.
func readFile(name string, limit int) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := min(info.Size(), int64(limit)) + bytes.MinRead
	b := bytes.NewBuffer(make([]byte, 0, size))
	_, err = b.ReadFrom(io.LimitReader(f, int64(limit)+1))
	return b.Bytes(), err
}
