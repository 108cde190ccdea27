package app

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treadle-run/treadle/job/builtin"
	"github.com/treadle-run/treadle/proto"
)

// checkOf returns the check of apps over specs with one request, backup.
func checkOf(t *testing.T, maxArgs int) func(proto.App, map[string]proto.App) error {
	t.Helper()
	dir := t.TempDir()
	spec := "sequences:\n  backup:\n    request: true\n    args: {optional: [{name: feed, default: x}]}\n    nodes: {go: {category: job, type: noop}}\n"
	if err := os.WriteFile(filepath.Join(dir, "backup.yaml"), []byte(spec), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg := Default()
	cfg.Specs.Dir, cfg.Limits.Args = dir, maxArgs
	specs, err := loadSpecs(cfg, Deps{Registry: builtin.Registry(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return checkApp(specs, cfg)
}

func TestAppsWhoseRequestsWouldAllBeTooLargeAreRefused(t *testing.T) {
	t.Parallel()
	check := checkOf(t, 100)
	for n, ok := range map[int]bool{89: true, 90: false, 2 << 20: false} { // {"feed":""} has 11
		app := proto.App{Name: "x", Request: "backup", Starts: "hourly", Args: proto.Values{"feed": strings.Repeat("a", n)}}
		err := check(app, nil)
		if ok != (err == nil) {
			t.Errorf("%d bytes: %v", n, err)
		}
		if e, is := err.(*proto.Error); err != nil && (!is || e.Code != proto.CodeTooLarge || len(e.Message) > 200) { //nolint:errorlint // it is answered as it is
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}

func TestWhatIsWrongWithAnAppIsSaidInFewWords(t *testing.T) {
	t.Parallel()
	check := checkOf(t, 16<<20)
	many, args := map[string]string{}, proto.Values{}
	for i := range 10_000 {
		many[fmt.Sprintf("up%05d", i)] = "hourly"
		args[fmt.Sprintf("arg%05d", i)] = int64(i)
	}
	for name, app := range map[string]proto.App{
		"upstream apps": {Name: "x", Request: "backup", Depends: many},
		"args":          {Name: "x", Request: "backup", Starts: "hourly", Args: args},
	} {
		err := check(app, nil)
		if err == nil {
			t.Fatalf("%s: nothing is wrong", name)
		}
		if msg := err.Error(); len(msg) > 2000 || !strings.HasSuffix(msg, " and 9990 more") {
			t.Errorf("%s: %d bytes: %.3000s", name, len(msg), msg)
		}
	}
}
