package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sync/atomic"

	"github.com/treadle-run/treadle/job"
)

// checksum computes one checksum over all files of a directory.
//
// Exported fields are its stored form: they are set when the request is created,
// and there again when the job runs, maybe on another machine.
type checksum struct {
	Dir     string `json:"dir"`
	Pattern string `json:"pattern"`

	// Status reads these while Run writes them.
	files, bytes atomic.Int64
}

// Declare says which args the type takes. Specs are checked against it, and
// `treadle job-types files/checksum` shows it.
func (*checksum) Declare() job.Declaration {
	return job.Declaration{
		Doc:    "Computes one checksum over all files of a directory.",
		Repeat: job.RepeatSafe,
		Args: []job.Arg{
			{Name: "dir", Type: job.String, Required: true, Pattern: "/.*", Doc: "the directory, an absolute path"},
			{Name: "pattern", Type: job.String, Default: "*", Doc: "which files of it"},
		},
		Sets: []job.Arg{{Name: "title", Type: job.String, Doc: "what is summed up, in words"}},
		// What a type and a pattern do not say.
		Check: func(args job.Values) error {
			pattern, _ := args["pattern"].(string)
			if _, err := path.Match(pattern, ""); err != nil {
				return job.ArgErrorf("pattern", "expected a pattern such as *.conf, got %v", pattern)
			}
			return nil
		},
	}
}

// Create sets an arg. It runs in the Request Manager, when the request is created: it
// must not do the work.
func (c *checksum) Create(_ context.Context, args job.Values) error {
	c.Dir, _ = args["dir"].(string)
	if c.Pattern, _ = args["pattern"].(string); c.Pattern == "" {
		c.Pattern = "*"
	}
	// The node can take this over with `sets`.
	args["title"] = c.Pattern + " in " + c.Dir
	return nil
}

// Run does the work. What it returns in Data, all jobs after it see. If ctx ends
// it stops, with an error.
func (c *checksum) Run(ctx context.Context, _ job.Values) (job.Result, error) {
	sum := sha256.New()
	err := filepath.WalkDir(c.Dir, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if match, _ := path.Match(c.Pattern, entry.Name()); !match || !entry.Type().IsRegular() {
			return nil
		}
		return c.add(sum, name)
	})
	if err != nil {
		return job.Result{}, err
	}
	return job.Result{Data: job.Values{
		"files":  c.files.Load(),
		"bytes":  c.bytes.Load(),
		"sha256": hex.EncodeToString(sum.Sum(nil)),
	}}, nil
}

func (c *checksum) add(sum io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	n, err := io.Copy(sum, f)
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	c.files.Add(1)
	c.bytes.Add(n)
	return nil
}

// Status is what `treadle ps` shows while the job runs.
func (c *checksum) Status() string {
	return fmt.Sprintf("%d files, %d bytes so far", c.files.Load(), c.bytes.Load())
}
