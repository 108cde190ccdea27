package app

import (
	"errors"
	"fmt"
	"time"

	"github.com/treadle-run/treadle/config"
	"github.com/treadle-run/treadle/proto"
)

// Config is the configuration of a Job Runner. docs/operate.md has every key
// for users.
type Config struct {
	Server          Server            `yaml:"server"`
	RMClient        RMClient          `yaml:"rm_client"`
	Host            string            `yaml:"host"`     // name of the machine; "" asks the system
	Labels          map[string]string `yaml:"labels"`   // what this runner is
	Capacity        uint              `yaml:"capacity"` // limit of chains at a time; 0 is no limit
	WorkDir         string            `yaml:"work_dir"` // where commands run; "" is where the runner was started
	RunAs           string            `yaml:"run_as"`   // user of commands; "" is that of the runner
	Limits          Limits            `yaml:"limits"`
	Cluster         config.Cluster    `yaml:"cluster"`
	ShutdownTimeout time.Duration     `yaml:"shutdown_timeout"` // to hand everything in
	Log             config.Log        `yaml:"log"`
}

// Server is where the API is served.
type Server struct {
	Addr string `yaml:"addr"` // host:port
	// URL is how Request Managers reach this runner; "" makes it from Addr.
	URL string `yaml:"url"`
	// Names are host names of the runner, besides those of the address, the URL and the
	// certificate.
	Names []string   `yaml:"names"`
	TLS   config.TLS `yaml:"tls"`
}

// RMClient is how Request Managers are reached.
type RMClient struct {
	URL string     `yaml:"url"` // one Request Manager, or a load balancer
	TLS config.TLS `yaml:"tls"`
}

// Limits bounds what one job may do.
type Limits struct {
	Data int `yaml:"data"` // bytes of the data that one job sets
}

// Default returns the configuration of a Job Runner that is told nothing.
func Default() Config {
	return Config{
		Server:          Server{Addr: "127.0.0.1:32307"},
		RMClient:        RMClient{URL: "http://127.0.0.1:32308"},
		Limits:          Limits{Data: proto.DefaultDataSize},
		ShutdownTimeout: 30 * time.Second,
		Log:             config.Log{Level: "info", Format: "text"},
	}
}

// Validate returns every problem of the configuration, one a line, by key. No
// message has a secret.
func (c Config) Validate() error {
	return errors.Join(
		config.ValidateListen(c.Server.Addr, c.Server.TLS, c.Cluster, true),
		config.ValidateNames("server.names", c.Server.Names),
		c.Server.TLS.ValidateServer("server.tls"),
		c.validateServerURL(),
		c.validateHost(),
		config.ValidateURL("rm_client.url", c.RMClient.URL),
		c.RMClient.TLS.Validate("rm_client.tls"),
		c.Cluster.Validate(),
		c.validateNumbers(),
		c.Log.Validate(),
	)
}

// validateServerURL demands a URL where the address that is listened at says
// nothing about how others get there.
func (c Config) validateServerURL() error {
	if c.Server.URL != "" {
		return config.ValidateURL("server.url", c.Server.URL)
	}
	if config.IsWildcard(c.Server.Addr) {
		return fmt.Errorf("server.url: must say how Request Managers reach this runner, since server.addr is %s", c.Server.Addr)
	}
	return nil
}

func (c Config) validateHost() error {
	if err := proto.CheckHost(c.Host); err != nil {
		return fmt.Errorf("host: %w", err)
	}
	return nil
}

func (c Config) validateNumbers() error {
	var errs []error
	if c.Limits.Data <= 0 {
		errs = append(errs, errors.New("limits.data: must be more than 0"))
	}
	if c.ShutdownTimeout <= 0 {
		errs = append(errs, errors.New("shutdown_timeout: must be more than 0"))
	}
	return errors.Join(errs...)
}
