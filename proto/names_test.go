package proto

import (
	"strings"
	"testing"
)

func TestNamesAreChecked(t *testing.T) {
	t.Parallel()
	name := func(x string) error { return CheckName(x, MaxNodeName) }
	jobType := func(x string) error { return CheckJobType(x, MaxJobType) }
	const (
		control = "has control characters"
		app     = "must have only letters, digits, dots, hyphens and underscores, and start with a letter or a digit"
		host    = "must not have spaces, slashes or control characters"
	)
	for _, tt := range []struct {
		what  string
		check func(string) error
		name  string
		want  string
	}{
		{"a name with a space", name, "stop host", ""},
		{"a name of the limit", name, strings.Repeat("n", 100), ""},
		{"a name over the limit", name, strings.Repeat("n", 101), "has 101 bytes, and the limit is 100"},
		{"no name", name, "", "is empty"},
		{"a name with a slash", name, "a/b", "must not have a slash"},
		{"a name with a tab", name, "a\tb", control},
		{"a job type with a slash", jobType, "team/deploy", ""},
		{"a job type over the limit", jobType, strings.Repeat("n", 76), "has 76 bytes, and the limit is 75"},
		{"no job type", jobType, "", "is empty"},
		{"a job type with a line break", jobType, "a\n", control},
		{"an app", CheckAppName, "Report.daily_2-x", ""},
		{"an app over the limit", CheckAppName, strings.Repeat("n", 76), "has 76 bytes, and the limit is 75"},
		{"no app", CheckAppName, "", "is empty"},
		{"an app with a space", CheckAppName, "a b", app},
		{"an app that starts with a dot", CheckAppName, ".a", app},
		{"an app with a line break", CheckAppName, "a\n", app},
		{"a host", CheckHost, "db-1.example.org", ""},
		{"any host", CheckHost, "", ""},
		{"a host over the limit", CheckHost, strings.Repeat("n", 256), "has 256 bytes, and the limit is 255"},
		{"a host with a space", CheckHost, "db 1", host},
		{"a host with a no-break space", CheckHost, "db\u00a01", host},
		{"a host with a slash", CheckHost, "a/b", host},
		{"a host with a null", CheckHost, "a\x00", host},
		{"a host that is not UTF-8", CheckHost, "\xff", "must be UTF-8"},
	} {
		got := ""
		if err := tt.check(tt.name); err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", tt.what, got, tt.want)
		}
	}
}
