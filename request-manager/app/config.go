package app

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/treadle-run/treadle/config"
	"github.com/treadle-run/treadle/grapher/check"
	"github.com/treadle-run/treadle/proto"
)

// Config is the configuration of a Request Manager. docs/operate.md has every
// key for users.
type Config struct {
	Server   Server         `yaml:"server"`
	MySQL    MySQL          `yaml:"mysql"`
	SQLite   SQLite         `yaml:"sqlite"`
	Specs    Specs          `yaml:"specs"`
	JRClient JRClient       `yaml:"jr_client"`
	Auth     Auth           `yaml:"auth"`
	Resumer  Resumer        `yaml:"resumer"`
	Schedule Schedule       `yaml:"schedule"`
	Lease    time.Duration  `yaml:"lease"` // for how long a runner may run jobs without an answer
	Cluster  config.Cluster `yaml:"cluster"`
	Limits   Limits         `yaml:"limits"`
	DB       Tries          `yaml:"db"`     // of a transaction that failed for a reason that may pass
	Runner   Tries          `yaml:"runner"` // to hand a request to a runner
	Secrets  Secrets        `yaml:"secrets"`
	Log      config.Log     `yaml:"log"`
}

// Server is where the API is served.
type Server struct {
	Addr string `yaml:"addr"` // host:port
	// Names are host names of the service, besides those of the address and the
	// certificate.
	Names []string   `yaml:"names"`
	TLS   config.TLS `yaml:"tls"`
}

// MySQL is a MySQL or MariaDB database.
type MySQL struct {
	DSN config.Secret `yaml:"dsn"` // user:password@tcp(host:port)/database
	TLS config.TLS    `yaml:"tls"`
}

// SQLite is an embedded database.
type SQLite struct {
	Path string `yaml:"path"` // of the database file
}

// Specs is what users can ask for.
type Specs struct {
	Dir  string   `yaml:"dir"`
	Warn []string `yaml:"warn"` // names of checks that only warn
}

// warnChecks are the checks that may be turned into warnings.
var warnChecks = check.MayWarn()

// JRClient is how runners are reached.
type JRClient struct {
	// URL, if set, is where every chain is sent: one runner, or a load balancer.
	URL string     `yaml:"url"`
	TLS config.TLS `yaml:"tls"`
}

// Auth says who may do what.
type Auth struct {
	AdminRoles []string `yaml:"admin_roles"`
	Strict     bool     `yaml:"strict"`
}

// Resumer is the timing of suspended requests.
type Resumer struct {
	TTL          time.Duration `yaml:"ttl"`           // a request suspended for longer fails
	ClaimTimeout time.Duration `yaml:"claim_timeout"` // a claim older than that is dropped
	Interval     time.Duration `yaml:"interval"`      // between two searches for suspended requests
}

// Schedule is how recurring work is run.
type Schedule struct {
	Enabled    bool          `yaml:"enabled"`     // whether this Request Manager runs it
	Poll       time.Duration `yaml:"poll"`        // between two searches for due instances
	Heartbeat  time.Duration `yaml:"heartbeat"`   // between two heartbeats of a member
	StaleAfter time.Duration `yaml:"stale_after"` // a member not seen for so long loses its instances
	Workers    int           `yaml:"workers"`     // instances worked on at a time
	Keep       time.Duration `yaml:"keep"`        // instances that ended, and events
}

// Limits bounds what one request may ask for. That of job data is the runner's.
type Limits struct {
	Jobs  int `yaml:"jobs"`  // in one chain
	Depth int `yaml:"depth"` // of nested sequences
	Args  int `yaml:"args"`  // bytes of the args of a request
}

// Tries says how often something is tried, and how long to wait in between.
type Tries struct {
	Tries     int           `yaml:"tries"`
	RetryWait time.Duration `yaml:"retry_wait"`
}

// Secrets is how secret args are stored.
type Secrets struct {
	KeyFile string `yaml:"key_file"` // 32 bytes, or 64 hexadecimal digits
}

// Key returns the key that secret args are sealed with, and nil if there is no
// key file. The error says what is wrong with the file, never what it has.
func (s Secrets) Key() ([]byte, error) {
	if s.KeyFile == "" {
		return nil, nil
	}
	b, err := os.ReadFile(s.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("secrets.key_file: %w", err)
	}
	if len(b) == keySize {
		return b, nil
	}
	if key, err := hex.DecodeString(strings.TrimSpace(string(b))); err == nil && len(key) == keySize {
		return key, nil
	}
	return nil, fmt.Errorf("secrets.key_file: %s must have %d bytes, or %d hexadecimal digits", s.KeyFile, keySize, 2*keySize)
}

const keySize = 32

// Default returns the configuration of a Request Manager for which nothing but the
// database is set.
func Default() Config {
	return Config{
		Server:  Server{Addr: "127.0.0.1:32308"},
		Specs:   Specs{Dir: "specs"},
		Resumer: Resumer{TTL: time.Hour, ClaimTimeout: 5 * time.Minute, Interval: 3 * time.Second},
		Schedule: Schedule{
			Enabled: true, Poll: time.Second, Heartbeat: 2 * time.Second, StaleAfter: 15 * time.Second,
			Workers: 128, Keep: 400 * 24 * time.Hour,
		},
		Lease:  time.Minute,
		Limits: Limits{Jobs: 200_000, Depth: 50, Args: proto.DefaultArgsSize},
		DB:     Tries{Tries: 3, RetryWait: 500 * time.Millisecond},
		Runner: Tries{Tries: 5, RetryWait: 5 * time.Second},
		Log:    config.Log{Level: "info", Format: "text"},
	}
}

// Validate returns every problem of the configuration, one a line, by key. No
// message has the DSN or a secret.
func (c Config) Validate() error {
	return errors.Join(
		// This version does not ask users who they are: where others can reach the API,
		// only a certificate tells who may.
		config.ValidateListen(c.Server.Addr, c.Server.TLS, c.Cluster, false),
		config.ValidateNames("server.names", c.Server.Names),
		c.Server.TLS.ValidateServer("server.tls"),
		c.ValidateDatabase(),
		c.validateSpecs(),
		c.validateJRClient(),
		c.JRClient.TLS.Validate("jr_client.tls"),
		c.validateAuth(),
		positive("resumer.ttl", c.Resumer.TTL),
		positive("resumer.claim_timeout", c.Resumer.ClaimTimeout),
		positive("resumer.interval", c.Resumer.Interval),
		c.validateSchedule(),
		c.validateLease(),
		c.Cluster.Validate(),
		positive("limits.jobs", c.Limits.Jobs),
		positive("limits.depth", c.Limits.Depth),
		positive("limits.args", c.Limits.Args),
		positive("db.tries", c.DB.Tries),
		notNegative("db.retry_wait", c.DB.RetryWait),
		positive("runner.tries", c.Runner.Tries),
		notNegative("runner.retry_wait", c.Runner.RetryWait),
		c.Log.Validate(),
	)
}

// ValidateDatabase is the part of Validate that a migration needs.
func (c Config) ValidateDatabase() error {
	var errs []error
	switch {
	case c.MySQL.DSN != "" && c.SQLite.Path != "":
		errs = append(errs, errors.New("mysql.dsn and sqlite.path are both set: choose one database"))
	case c.MySQL.DSN == "" && c.SQLite.Path == "":
		errs = append(errs, errors.New("no database: set mysql.dsn, or sqlite.path for an embedded one"))
	}
	if c.MySQL.DSN != "" {
		// The driver's error may repeat parts of the DSN.
		if d, err := mysql.ParseDSN(string(c.MySQL.DSN)); err != nil || d.DBName == "" {
			errs = append(errs, errors.New("mysql.dsn: expected user:password@tcp(host:port)/database"))
		}
	} else if c.MySQL.TLS.Set() {
		errs = append(errs, errors.New("mysql.tls has no effect without mysql.dsn"))
	}
	return errors.Join(append(errs, c.MySQL.TLS.Validate("mysql.tls"))...)
}

func (c Config) validateSpecs() error {
	if c.Specs.Dir == "" {
		return errors.New("specs.dir: must name a directory")
	}
	for _, w := range c.Specs.Warn {
		if !slices.Contains(warnChecks, w) {
			return fmt.Errorf("specs.warn: %q cannot be turned into a warning, only these can: %s", w, proto.Names(warnChecks))
		}
	}
	return nil
}

func (c Config) validateJRClient() error {
	if c.JRClient.URL == "" {
		return nil
	}
	return config.ValidateURL("jr_client.url", c.JRClient.URL)
}

func (c Config) validateAuth() error {
	var errs []error
	if len(c.Auth.AdminRoles) > 0 {
		errs = append(errs, errors.New("auth.admin_roles: not supported in this version"))
	}
	if c.Auth.Strict {
		errs = append(errs, errors.New("auth.strict: not supported in this version"))
	}
	return errors.Join(errs...)
}

// minLease leaves room for a few heartbeats, one every two seconds, to get lost.
const minLease = 5 * time.Second

func (c Config) validateLease() error {
	if c.Lease < minLease {
		return fmt.Errorf("lease: must be at least %s", minLease)
	}
	return nil
}

func (c Config) validateSchedule() error {
	err := errors.Join(
		positive("schedule.poll", c.Schedule.Poll),
		positive("schedule.heartbeat", c.Schedule.Heartbeat),
		positive("schedule.workers", c.Schedule.Workers),
		positive("schedule.keep", c.Schedule.Keep),
	)
	// One that is lost must not make a member stale.
	if c.Schedule.StaleAfter < 3*c.Schedule.Heartbeat {
		err = errors.Join(err, errors.New("schedule.stale_after: must be at least three times schedule.heartbeat"))
	}
	return err
}

func positive[T int | time.Duration](key string, n T) error {
	if n <= 0 {
		return fmt.Errorf("%s: must be more than 0", key)
	}
	return nil
}

func notNegative(key string, d time.Duration) error {
	if d < 0 {
		return fmt.Errorf("%s: must not be negative", key)
	}
	return nil
}
