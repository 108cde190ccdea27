package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/config"
)

type settings struct {
	Server struct {
		Addr string     `yaml:"addr"`
		TLS  config.TLS `yaml:"tls"`
	} `yaml:"server"`
	Labels map[string]string `yaml:"labels"`
	Warn   []string          `yaml:"warn"`
	Wait   time.Duration     `yaml:"wait_time"`
	Tries  int               `yaml:"tries"`
	Size   uint              `yaml:"size"`
	Strict bool              `yaml:"strict"`
	Secret config.Secret     `yaml:"secret"`
}

func noEnv(string) (string, bool) { return "", false }

func env(m map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		v, ok := m[name]
		return v, ok
	}
}

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "t.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoadReadsEveryKind(t *testing.T) {
	t.Parallel()
	var got settings
	got.Tries = 3
	err := config.LoadEnv(write(t, `
server:
  addr: 127.0.0.1:1
  tls:
labels: {zone: a, gpu: "true"}
warn: [x, y]
wait_time: 1m30s
size: 7
strict: true
secret: s3cret
`), noEnv, &got)
	if err != nil {
		t.Fatal(err)
	}
	var want settings
	want.Server.Addr = "127.0.0.1:1"
	want.Labels = map[string]string{"zone": "a", "gpu": "true"}
	want.Warn = []string{"x", "y"}
	want.Wait = 90 * time.Second
	want.Tries = 3 // the default stays
	want.Size = 7
	want.Strict = true
	want.Secret = "s3cret"
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, text, want string }{
		{"unknown key", "tries: 1\ntriess: 2\n", `FILE:2: unknown key "triess", did you mean "tries"?`},
		{"unknown key in a section", "server:\n  adr: x\n", `FILE:2: unknown key "server.adr", did you mean "server.addr"?`},
		{"nothing like it", "bananas: 2\n", `FILE:1: unknown key "bananas"`},
		{"two problems", "a1234: 1\nb1234: 2\n", "FILE:1: unknown key \"a1234\"\nFILE:2: unknown key \"b1234\""},
		{"twice", "tries: 1\nsize: 1\ntries: 2\n", `FILE:3: key "tries" is there twice: first in line 1`},
		{"duration", "wait_time: 30\n", `FILE:1: wait_time: "30" is not a duration such as 30s or 1h30m`},
		{"int", "tries: 1.5\n", `FILE:1: tries: "1.5" is not a whole number`},
		{"uint", "size: -1\n", `FILE:1: size: "-1" is not a whole number from 0 to 4294967295`},
		{"bool", "strict: maybe\n", `FILE:1: strict: "maybe" is neither true nor false`},
		{"no value", "tries:\n", `FILE:1: tries has no value: give it one or remove it`},
		{"section is text", "server: x\n", `FILE:1: server must have keys below it`},
		{"key is a section", "tries:\n  a: 1\n", `FILE:2: tries: expected a single value`},
		{"list is text", "warn: a\n", `FILE:1: warn: expected a list`},
		{"list of lists", "warn: [[a]]\n", `FILE:1: warn: expected a list of texts`},
		{"pairs are a list", "labels: [a]\n", `FILE:1: labels: expected name: value pairs`},
		{"pair without text", "labels: {a: }\n", `FILE:1: labels: expected a text for a`},
		{"a list", "- a\n", `FILE:1: the configuration must have keys below it`},
		{"two documents", "tries: 1\n---\ntries: 2\n", `FILE: has more than one YAML document`},
		{"not YAML", "tries: 1\n  x: [\n", `FILE:2: not YAML: mapping values are not allowed in this context`},
		{"too large", strings.Repeat("#\n", 1<<20), `configuration file FILE is larger than 1048576 bytes`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			path := write(t, tt.text)
			err := config.LoadEnv(path, noEnv, new(settings))
			if got := strings.ReplaceAll(fmt.Sprint(err), path, "FILE"); got != tt.want {
				t.Errorf("got:\n%s\nwant:\n%s", got, tt.want)
			}
		})
	}
}

func TestNoFile(t *testing.T) {
	t.Parallel()
	err := config.LoadEnv(filepath.Join(t.TempDir(), "none.yaml"), noEnv, new(settings))
	if err == nil || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("got %v, want an error that names the file", err)
	}
	if err := config.LoadEnv(write(t, "# only a comment\n"), noEnv, new(settings)); err != nil {
		t.Errorf("an empty file: %v", err)
	}
}

func TestEnvironmentWins(t *testing.T) {
	t.Parallel()
	var got settings
	err := config.LoadEnv(write(t, "tries: 1\nsize: 1\nwarn: [a]\n"), env(map[string]string{
		"TREADLE_TRIES":              "2",
		"TREADLE_SIZE":               "", // as if it were not set
		"TREADLE_WARN":               "b, c,",
		"TREADLE_LABELS":             "zone=a, rack=b=c",
		"TREADLE_SERVER_TLS_CA_FILE": "ca.pem",
	}), &got)
	if err != nil {
		t.Fatal(err)
	}
	var want settings
	want.Tries, want.Size = 2, 1
	want.Warn = []string{"b", "c"}
	want.Labels = map[string]string{"zone": "a", "rack": "b=c"}
	want.Server.TLS.CAFile = "ca.pem"
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

func TestBadEnvironmentNamesTheVariable(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ value, want string }{
		"TREADLE_WAIT_TIME": {"soon", `environment variable TREADLE_WAIT_TIME: "soon" is not a duration such as 30s or 1h30m`},
		"TREADLE_TRIES":     {"x", `environment variable TREADLE_TRIES: "x" is not a whole number`},
		"TREADLE_LABELS":    {"zone", `environment variable TREADLE_LABELS: "zone" is not name=value`},
		"TREADLE_STRICT":    {"yes", `environment variable TREADLE_STRICT: "yes" is neither true nor false`},
	} {
		err := config.LoadEnv("", env(map[string]string{name: tt.value}), new(settings))
		if fmt.Sprint(err) != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	t.Parallel()
	s := settings{Secret: "s3cret"}
	var log strings.Builder
	logger := config.Log{Level: "info", Format: "json"}.Logger(&log)
	logger.Info("x", "secret", s.Secret, "all", s)
	for _, text := range []string{
		fmt.Sprint(s), fmt.Sprintf("%+v", s), fmt.Sprintf("%#v", s), fmt.Sprintf("%q", s.Secret), log.String(),
	} {
		if strings.Contains(text, "s3cret") || !strings.Contains(text, "******") {
			t.Errorf("printed as %s", text)
		}
	}
	for _, k := range config.Keys(&s) {
		if k.Path == "secret" && k.Value != "******" {
			t.Errorf("key shows %q", k.Value)
		}
	}
}
