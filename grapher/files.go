package grapher

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// walker finds spec files. A directory or file counts once, by its real path, so
// that links in a cycle end.
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
		return errors.New("it is not a regular file")
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
