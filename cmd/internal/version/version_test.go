package version

import (
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

func TestVersionOfABuild(t *testing.T) {
	t.Parallel()
	end := runtime.Version() + ", " + runtime.GOOS + "/" + runtime.GOARCH + ")"
	commit := []debug.BuildSetting{{Key: "vcs.revision", Value: "0123456789abcdef"}, {Key: "vcs.time", Value: "2026-03-01T12:00:00Z"}}
	for name, tt := range map[string]struct {
		build *debug.BuildInfo
		want  string
	}{
		"of a tag": {&debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "v1.2.3"}, Settings: commit},
			"treadle v1.2.3 (commit 0123456789ab of 2026-03-01T12:00:00Z, " + end},
		"of changed files": {&debug.BuildInfo{Main: debug.Module{Path: modulePath, Version: "v1.2.3+dirty"},
			Settings: append(commit, debug.BuildSetting{Key: "vcs.modified", Value: "true"})},
			"treadle v1.2.3+dirty (commit 0123456789ab of 2026-03-01T12:00:00Z, modified, " + end},
		"a user's program": {&debug.BuildInfo{Main: debug.Module{Path: "example.com/mine", Version: "v9"}, Settings: commit,
			Deps: []*debug.Module{{Path: "example.com/other", Version: "v7"}, {Path: modulePath, Version: "v1.2.3"}}}, "treadle v1.2.3 (" + end},
		"nothing recorded": {nil, "treadle unknown (" + end},
	} {
		if got := of(tt.build).String(); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// A release sets its version; what Go recorded about the commit does not count then.
func TestVersionOfARelease(t *testing.T) {
	tag, commit, date = "v1.2.3", "fedcba9876543210", "2026-03-02T12:00:00Z"
	t.Cleanup(func() { tag, commit, date = "", "", "" })
	if got, want := Get().String(), "treadle v1.2.3 (commit fedcba987654 of 2026-03-02T12:00:00Z, go"; !strings.HasPrefix(got, want) {
		t.Errorf("%q does not start with %q", got, want)
	}
}
