package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/config"
	"github.com/treadle-run/treadle/request-manager/app"
)

// valid is the least that is valid.
func valid() app.Config {
	c := app.Default()
	c.SQLite.Path = "treadle.db"
	return c
}

func TestDefaultNeedsADatabaseAlone(t *testing.T) {
	t.Parallel()
	if err := valid().Validate(); err != nil {
		t.Error(err)
	}
	if err := app.Default().Validate(); err == nil || err.Error() != "no database: set mysql.dsn, or sqlite.path for an embedded one" {
		t.Errorf("without a database: %v", err)
	}
}

// sample is a value that differs from the default for the kind of the key.
func sample(k config.Key) string {
	switch {
	case k.Value == "true" || k.Value == "false":
		return "true"
	case strings.HasSuffix(k.Value, "s"): // a duration
		return "42s"
	case strings.Trim(k.Value, "0123456789") == "" && k.Value != "":
		return "42"
	}
	return "other"
}

func TestEnvironmentWinsForEveryKey(t *testing.T) {
	t.Parallel()
	d := app.Default()
	for _, k := range config.Keys(&d) {
		c := app.Default()
		want := sample(k)
		err := config.LoadEnv("", func(name string) (string, bool) { return want, name == k.Env }, &c)
		if err != nil {
			t.Errorf("%s: %v", k.Env, err)
			continue
		}
		for _, after := range config.Keys(&c) {
			got, secret := after.Value, k.Path == "mysql.dsn" || k.Path == "cluster.secret"
			if after.Path == k.Path && got != want && !(secret && got == "******") {
				t.Errorf("%s=%s gives %s: %q", k.Env, want, k.Path, got)
			}
		}
	}
}

func TestEveryKeyIsReadFromTheFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "rm.yaml")
	text := `
server: {addr: "127.0.0.1:1", names: [n], tls: {cert_file: a, key_file: b, ca_file: c}}
mysql: {dsn: "u:p@tcp(h)/d", tls: {cert_file: a, key_file: b, ca_file: c}}
sqlite: {path: p}
specs: {dir: d, warn: [unknown-field, parallel-sets]}
jr_client: {url: "http://h:1", tls: {cert_file: a, key_file: b, ca_file: c}}
auth: {admin_roles: [r], strict: true}
resumer: {ttl: 2h, claim_timeout: 1m, interval: 1s}
schedule: {enabled: false, poll: 2s, heartbeat: 1s, stale_after: 20s, workers: 7, keep: 24h}
lease: 20s
cluster: {secret: x, secret_file: f}
limits: {jobs: 1, depth: 2, args: 3}
db: {tries: 4, retry_wait: 5s}
runner: {tries: 6, retry_wait: 7s}
secrets: {key_file: k}
log: {level: debug, format: json}
`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := app.Default()
	if err := config.LoadEnv(path, func(string) (string, bool) { return "", false }, &c); err != nil {
		t.Fatal(err)
	}
	d := app.Default()
	before := config.Keys(&d)
	for i, k := range config.Keys(&c) {
		if k.Value == before[i].Value {
			t.Errorf("%s is as before: %q", k.Path, k.Value)
		}
	}
	if c.Resumer.TTL != 2*time.Hour || string(c.MySQL.DSN) != "u:p@tcp(h)/d" {
		t.Errorf("got %+v", c)
	}
}

func TestBadConfigurationsAreRefused(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name   string
		change func(*app.Config)
		want   string // of the error; the error must be one line
	}{
		{"no port", func(c *app.Config) { c.Server.Addr = "127.0.0.1" }, "server.addr: "},
		{"reachable", func(c *app.Config) { c.Server.Addr = "0.0.0.0:1" }, "set server.tls with ca_file"},
		{"reachable with a secret that users do not need", func(c *app.Config) {
			c.Server.Addr, c.Cluster.Secret = "0.0.0.0:1", "0123456789abcdef"
		}, "set server.tls with ca_file"},
		{"half TLS", func(c *app.Config) { c.Server.TLS.CertFile = "c" }, "server.tls: cert_file and key_file go together"},
		{"only CA", func(c *app.Config) { c.Server.TLS.CAFile = "c" }, "server.tls: needs cert_file and key_file"},
		{"two databases", func(c *app.Config) { c.MySQL.DSN = "u:p@tcp(h)/d" }, "mysql.dsn and sqlite.path are both set"},
		{"bad DSN", func(c *app.Config) { c.SQLite.Path = ""; c.MySQL.DSN = "u:pass%word@h" }, "mysql.dsn: expected user:password@tcp(host:port)/database"},
		{"no database name", func(c *app.Config) { c.SQLite.Path = ""; c.MySQL.DSN = "u:password@tcp(h)/" }, "mysql.dsn: expected"},
		{"TLS of no database", func(c *app.Config) { c.MySQL.TLS.CAFile = "c" }, "mysql.tls has no effect without mysql.dsn"},
		{"no specs", func(c *app.Config) { c.Specs.Dir = "" }, "specs.dir: "},
		{"a check that must not warn", func(c *app.Config) { c.Specs.Warn = []string{"unknown-field", "cycle"} }, `specs.warn: "cycle"`},
		{"runner URL", func(c *app.Config) { c.JRClient.URL = "127.0.0.1:1" }, "jr_client.url: expected http://host:port"},
		{"roles", func(c *app.Config) { c.Auth.AdminRoles = []string{"x"} }, "auth.admin_roles: not supported in this version"},
		{"strict", func(c *app.Config) { c.Auth.Strict = true }, "auth.strict: not supported in this version"},
		{"ttl", func(c *app.Config) { c.Resumer.TTL = 0 }, "resumer.ttl: must be more than 0"},
		{"claim", func(c *app.Config) { c.Resumer.ClaimTimeout = -1 }, "resumer.claim_timeout: must be more than 0"},
		{"interval", func(c *app.Config) { c.Resumer.Interval = 0 }, "resumer.interval: must be more than 0"},
		{"poll", func(c *app.Config) { c.Schedule.Poll = 0 }, "schedule.poll: must be more than 0"},
		{"heartbeat", func(c *app.Config) { c.Schedule.Heartbeat = -1 }, "schedule.heartbeat: must be more than 0"},
		{"stale after one heartbeat", func(c *app.Config) { c.Schedule.StaleAfter = c.Schedule.Heartbeat }, "schedule.stale_after: must be at least three times"},
		{"workers", func(c *app.Config) { c.Schedule.Workers = 0 }, "schedule.workers: must be more than 0"},
		{"keep", func(c *app.Config) { c.Schedule.Keep = 0 }, "schedule.keep: must be more than 0"},
		{"lease", func(c *app.Config) { c.Lease = time.Second }, "lease: must be at least 5s"},
		{"short secret", func(c *app.Config) { c.Cluster.Secret = "password" }, "cluster.secret: must have at least 16 characters"},
		{"jobs", func(c *app.Config) { c.Limits.Jobs = 0 }, "limits.jobs: must be more than 0"},
		{"depth", func(c *app.Config) { c.Limits.Depth = 0 }, "limits.depth: must be more than 0"},
		{"args", func(c *app.Config) { c.Limits.Args = 0 }, "limits.args: must be more than 0"},
		{"db tries", func(c *app.Config) { c.DB.Tries = 0 }, "db.tries: must be more than 0"},
		{"db wait", func(c *app.Config) { c.DB.RetryWait = -1 }, "db.retry_wait: must not be negative"},
		{"runner tries", func(c *app.Config) { c.Runner.Tries = 0 }, "runner.tries: must be more than 0"},
		{"runner wait", func(c *app.Config) { c.Runner.RetryWait = -1 }, "runner.retry_wait: must not be negative"},
		{"level", func(c *app.Config) { c.Log.Level = "loud" }, `log.level: "loud"`},
		{"format", func(c *app.Config) { c.Log.Format = "xml" }, `log.format: "xml"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := valid()
			tt.change(&c)
			got := fmt.Sprint(c.Validate())
			if !strings.Contains(got, tt.want) || strings.Contains(got, "\n") {
				t.Errorf("got %q, want %q in one line", got, tt.want)
			}
			if strings.Contains(got, "pass") && tt.name != "short secret" && !strings.Contains(got, "user:password") {
				t.Errorf("the error has the password: %q", got)
			}
		})
	}
}

func TestSecretsKey(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	raw := strings.Repeat("k", 32)
	for name, tt := range map[string]struct{ text, want string }{
		"raw":   {raw, raw},
		"hex":   {strings.Repeat("6b", 32) + "\n", raw},
		"short": {"s3cret", ""},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		key, err := app.Secrets{KeyFile: path}.Key()
		if string(key) != tt.want || (err == nil) != (tt.want != "") || strings.Contains(fmt.Sprint(err), "s3cret") {
			t.Errorf("%s: key %q, error %v", name, key, err)
		}
	}
	if key, err := (app.Secrets{}).Key(); key != nil || err != nil {
		t.Errorf("without a file: %q, %v", key, err)
	}
	if _, err := (app.Secrets{KeyFile: "/none"}).Key(); err == nil {
		t.Error("a file that is not there gives no error")
	}
}
