// Package version knows which version of Treadle a program is.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// A release sets these with -ldflags "-X .../cmd/internal/version.tag=v1.2.3 ...".
// Otherwise the version is the one that Go recorded when it built the program.
var (
	tag    string // such as v1.2.3
	commit string // of that tag
	date   string // of the commit, RFC 3339
)

// Info is a version of Treadle. Commit and Date are "" where they are unknown, as in a
// user's program that imports Treadle.
type Info struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Date     string `json:"date"`     // of the commit
	Modified bool   `json:"modified"` // built of files that are not those of the commit
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// Get returns the version of Treadle in this program.
func Get() Info {
	build, _ := debug.ReadBuildInfo()
	i := of(build)
	if tag != "" {
		i.Version, i.Commit, i.Date, i.Modified = tag, commit, date, false
	}
	return i
}

const modulePath = "github.com/treadle-run/treadle"

// of is the version that Go recorded; build may be nil.
func of(build *debug.BuildInfo) Info {
	i := Info{Version: "unknown", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if build == nil {
		return i
	}
	if build.Main.Path != modulePath {
		for _, m := range build.Deps {
			if m.Path == modulePath {
				i.Version = m.Version
			}
		}
		return i // the commit is that of the user's program
	}
	i.Version = build.Main.Version
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			i.Commit = s.Value
		case "vcs.time":
			i.Date = s.Value
		case "vcs.modified":
			i.Modified = s.Value == "true"
		}
	}
	return i
}

// String is the version in one line: "treadle v1.2.3 (commit 0123456789ab of
// 2026-03-01T12:00:00Z, go1.26.0, linux/amd64)".
func (i Info) String() string {
	s := "treadle " + i.Version + " ("
	if i.Commit != "" {
		s += "commit " + i.Commit[:min(len(i.Commit), 12)]
		if i.Date != "" {
			s += " of " + i.Date
		}
		if i.Modified {
			s += ", modified"
		}
		s += ", "
	}
	return s + fmt.Sprintf("%s, %s/%s)", i.Go, i.OS, i.Arch)
}
