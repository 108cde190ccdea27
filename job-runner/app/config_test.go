package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treadle-run/treadle/config"
	"github.com/treadle-run/treadle/job-runner/app"
)

func TestDefaultIsValid(t *testing.T) {
	t.Parallel()
	if err := app.Default().Validate(); err != nil {
		t.Error(err)
	}
}

func TestEveryKeyIsReadFromTheFileAndTheEnvironmentWins(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "jr.yaml")
	text := `
server: {addr: "127.0.0.1:1", url: "http://h:1", names: [n], tls: {cert_file: a, key_file: b, ca_file: c}}
rm_client: {url: "http://h:2", tls: {cert_file: a, key_file: b, ca_file: c}}
host: h
labels: {zone: a}
capacity: 7
work_dir: /w
run_as: u
limits: {data: 8}
cluster: {secret: x, secret_file: f}
shutdown_timeout: 9s
log: {level: debug, format: json}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(string) (string, bool) { return "", false }
	read := func() []config.Key {
		c := app.Default()
		if err := config.LoadEnv(path, env, &c); err != nil {
			t.Fatal(err)
		}
		return config.Keys(&c)
	}
	d := app.Default()
	before, fromFile := config.Keys(&d), read()
	for i, k := range fromFile {
		if k.Value == before[i].Value {
			t.Errorf("%s is as before: %q", k.Path, k.Value)
		}
		other := map[string]string{"labels": "zone=b", "capacity": "1", "limits.data": "1", "shutdown_timeout": "1s"}[k.Path]
		if other == "" {
			other = "other"
		}
		env = func(name string) (string, bool) { return other, name == k.Env }
		if got := read()[i].Value; got != other && got != "******" {
			t.Errorf("%s=%s gives %q", k.Env, other, got)
		}
		env = func(string) (string, bool) { return "", false }
	}
}

func TestBadConfigurationsAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*app.Config)
		want   string
	}{
		{"reachable", func(c *app.Config) { c.Server.Addr = "10.0.0.1:1" }, "set cluster.secret"},
		{"everywhere, without a URL", func(c *app.Config) {
			c.Server.Addr = ":1"
			c.Cluster.Secret = "0123456789abcdef"
		}, "server.url: must say how Request Managers reach this runner"},
		{"bad URL", func(c *app.Config) { c.Server.URL = "h:1" }, "server.url: expected http://host:port"},
		{"half TLS", func(c *app.Config) { c.Server.TLS.KeyFile = "k" }, "server.tls: needs cert_file and key_file"},
		{"no manager", func(c *app.Config) { c.RMClient.URL = "" }, "rm_client.url: expected http://host:port"},
		{"half client TLS", func(c *app.Config) { c.RMClient.TLS.KeyFile = "k" }, "rm_client.tls: cert_file and key_file go together"},
		{"short secret", func(c *app.Config) { c.Cluster.Secret = "x" }, "cluster.secret: must have at least 16 characters"},
		{"data", func(c *app.Config) { c.Limits.Data = 0 }, "limits.data: must be more than 0"},
		{"shutdown", func(c *app.Config) { c.ShutdownTimeout = 0 }, "shutdown_timeout: must be more than 0"},
		{"level", func(c *app.Config) { c.Log.Level = "" }, `log.level: ""`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := app.Default()
			tt.change(&c)
			if got := fmt.Sprint(c.Validate()); !strings.Contains(got, tt.want) || strings.Contains(got, "\n") {
				t.Errorf("got %q, want %q in one line", got, tt.want)
			}
		})
	}
}
