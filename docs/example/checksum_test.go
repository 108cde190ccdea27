package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/job"
)

// A job type is tested through a registry, as the two services use it.
func TestChecksum(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"a.txt": "a", "b.txt": "bc", "c.log": "not this"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := registry()
	args := job.Values{"dir": dir, "pattern": "*.txt"}
	b, err := r.Create(t.Context(), &job.Info{Type: "files/checksum"}, args)
	if err != nil {
		t.Fatal(err)
	}
	if want := "*.txt in " + dir; args["title"] != want {
		t.Errorf("title %q, want %q", args["title"], want)
	}
	j, err := r.Load("files/checksum", b)
	if err != nil {
		t.Fatal(err)
	}
	res, err := job.Run(t.Context(), j, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := job.Values{
		"files": int64(2), "bytes": int64(3),
		"sha256": "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", // of "abc"
	}
	if diff := cmp.Diff(want, res.Data); diff != "" {
		t.Errorf("job data (-want +got):\n%s", diff)
	}
	if got := job.Status(j); got != "2 files, 3 bytes so far" {
		t.Errorf("status %q", got)
	}
}

func TestChecksumRefusesBadArgs(t *testing.T) {
	t.Parallel()
	for arg, args := range map[string]job.Values{
		"dir":     {"dir": "here", "pattern": "*"},
		"pattern": {"dir": "/", "pattern": "["},
	} {
		_, err := registry().Create(t.Context(), &job.Info{Type: "files/checksum"}, args)
		if argErr, ok := errors.AsType[*job.ArgError](err); !ok || argErr.Arg != arg {
			t.Errorf("got %v, want an ArgError for %s", err, arg)
		}
	}
}

func TestChecksumStops(t *testing.T) {
	t.Parallel()
	reason := errors.New("stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	if _, err := job.Run(ctx, &checksum{Dir: t.TempDir(), Pattern: "*"}, nil); !errors.Is(err, reason) {
		t.Errorf("got %v", err)
	}
}
