package e2e_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/e2e"
)

// readmeBlocks returns the code blocks of the README in a language.
func readmeBlocks(t *testing.T, language string) []string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(e2e.RepoDir(), "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	var blocks []string
	for _, m := range regexp.MustCompile("(?s)\n```"+language+"\n(.*?)\n```\n").FindAllSubmatch(b, -1) {
		blocks = append(blocks, string(m[1]))
	}
	if len(blocks) == 0 {
		t.Fatalf("the README has no block of %s", language)
	}
	return blocks
}

// Every command of the README works as it stands there.
func TestReadmeCommands(t *testing.T) {
	t.Parallel()
	e := e2e.NewEnv(t, "SQLite")
	e.SpecsDir = filepath.Join(e2e.RepoDir(), "specs")
	e.StartRM()
	e.StartJR()
	there := strings.NewReplacer("bin/treadle", e2e.Binary(t), "http://127.0.0.1:32308", e.URL())
	n := 0
	for _, block := range readmeBlocks(t, "sh") {
		for line := range strings.SplitSeq(block, "\n") {
			if line == "" {
				continue
			}
			cmd := exec.Command("/bin/sh", "-ec", there.Replace(line))
			cmd.Env = append(os.Environ(), "TREADLE_ADDR="+e.URL())
			out, err := cmd.CombinedOutput()
			if err != nil || len(out) == 0 || strings.Contains(string(out), `"httpStatus"`) {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
			n++
		}
	}
	if n < 5 {
		t.Errorf("found %d commands in the README", n)
	}
}

// The spec of the README passes lint, and runs.
func TestReadmeSpec(t *testing.T) {
	t.Parallel()
	e := e2e.NewEnv(t, "SQLite")
	e.Spec("cleanup", readmeBlocks(t, "yaml")[0])
	if out, errs, exit := e.Run("lint", e.SpecsDir); exit != 0 {
		t.Errorf("lint: %d\n%s%s", exit, out, errs)
	}
	out, errs, exit := e.Run("graph", "cleanup", "hosts=a,b", "--specs", e.SpecsDir)
	if exit != 0 || strings.Count(out, "clean") < 2 {
		t.Errorf("graph: %d\n%s%s", exit, out, errs)
	}
	e.StartRM()
	e.StartJR()
	id := e.Submit("cleanup", map[string]any{"hosts": "a,b"})
	e.WaitState(id, proto.StateComplete, time.Minute)
	if text := e.LogText(id); !strings.Contains(text, "removing what is older than 30 days on b") {
		t.Errorf("the log is\n%s", text)
	}
}

// The program of the README compiles.
func TestReadmeProgram(t *testing.T) {
	t.Parallel()
	testkit.Long(t)
	file := filepath.Join(t.TempDir(), "main.go")
	program := `package main

import (
	"context"

	"github.com/treadle-run/treadle/cmd"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/job/builtin"
)

` + readmeBlocks(t, "go")[0]
	if err := os.WriteFile(file, []byte(program), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "vet", file)
	cmd.Dir = e2e.RepoDir()
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
