package config

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"strings"
)

// Cluster is how the services of one installation know each other.
type Cluster struct {
	// Secret is the same text in every RM and JR. "" is none.
	Secret Secret `yaml:"secret"`
}

// minSecret is the least length of a cluster secret: one that can be guessed
// gives a stranger a shell on every runner.
const minSecret = 16

// Validate reports a secret that is too short to be one.
func (c Cluster) Validate() error {
	if c.Secret != "" && len(c.Secret) < minSecret {
		return fmt.Errorf("cluster.secret: must have at least %d characters", minSecret)
	}
	return nil
}

// ValidateListen reports an address that a service must not listen at: one that
// others can reach, while nothing proves that a caller belongs to the
// installation. A secret proves it only where every route asks for it.
func ValidateListen(addr string, t TLS, c Cluster, secretProves bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" {
		return fmt.Errorf("server.addr: %q is not host:port, such as 127.0.0.1:32308", addr)
	}
	if isLoopback(host) || secretProves && c.Secret != "" || t.Mutual() {
		return nil
	}
	proofs := "set server.tls with ca_file (mutual TLS)"
	if secretProves {
		proofs = "set cluster.secret, or server.tls with ca_file (mutual TLS),"
	}
	return fmt.Errorf("server.addr: %s can be reached from other machines: %s or listen at 127.0.0.1", addr, proofs)
}

func isLoopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// IsWildcard reports whether addr is every address of the machine, so that it
// does not say how others reach it.
func IsWildcard(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip, err := netip.ParseAddr(host)
	return host == "" || err == nil && ip.IsUnspecified()
}

// ValidateURL reports a text that is no base URL of a service.
func ValidateURL(key, s string) error {
	if u, err := url.Parse(s); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return fmt.Errorf("%s: expected http://host:port or https://host:port", key)
	}
	return nil
}

// Log says what is logged, and how.
type Log struct {
	Level  string `yaml:"level"`  // debug, info, warn or error
	Format string `yaml:"format"` // text or json
}

// Validate reports a level or format that does not exist.
func (l Log) Validate() error {
	if _, err := l.level(); err != nil {
		return fmt.Errorf("log.level: %q is not one of debug, info, warn, error", l.Level)
	}
	if l.Format != "text" && l.Format != "json" {
		return fmt.Errorf("log.format: %q is neither text nor json", l.Format)
	}
	return nil
}

func (l Log) level() (level slog.Level, err error) {
	switch l.Level {
	case "debug", "info", "warn", "error":
		return level, level.UnmarshalText([]byte(l.Level))
	}
	return level, fmt.Errorf("unknown level")
}

// Logger returns a logger that writes to w. What is not valid counts as info and
// text.
func (l Log) Logger(w io.Writer) *slog.Logger {
	level, _ := l.level()
	o := &slog.HandlerOptions{Level: level}
	if l.Format == "json" {
		return slog.New(slog.NewJSONHandler(w, o))
	}
	return slog.New(slog.NewTextHandler(w, o))
}
