package config

import (
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// ValidateListen reports an address that a service must not listen at: one that
// others can reach, while nothing proves that a caller belongs to the
// installation. A secret proves it only where every route asks for it.
func ValidateListen(addr string, t TLS, c Cluster, secretProves bool) error {
	host, port, err := net.SplitHostPort(addr)
	if err != nil || port == "" {
		return fmt.Errorf("server.addr: %q is not host:port, such as 127.0.0.1:32308", addr)
	}
	if isLoopback(host) || secretProves && c.Set() || t.Mutual() {
		return nil
	}
	proofs := "set server.tls with ca_file (mutual TLS)"
	if secretProves {
		proofs = "set cluster.secret, or server.tls with ca_file (mutual TLS),"
	}
	return fmt.Errorf("server.addr: %s can be reached from other machines: %s or listen at 127.0.0.1", addr, proofs)
}

// ServerNames returns the host names that a service answers to, from what its
// configuration says: the address it listens at, its base URL (or ""), and the names
// that are given besides.
func ServerNames(addr, base string, names []string) []string {
	out := slices.Clone(names)
	if host, _, err := net.SplitHostPort(addr); err == nil && !IsWildcard(addr) {
		out = append(out, host)
	}
	if u, err := url.Parse(base); err == nil && u.Hostname() != "" {
		out = append(out, u.Hostname())
	}
	return out
}

// ValidateNames reports a text that is no host name or address, such as one with a
// port.
func ValidateNames(key string, names []string) error {
	for _, name := range names {
		if u, err := url.Parse("http://" + name); err != nil || u.Host != name || u.Port() != "" || strings.ContainsAny(name, "*/ ") {
			if _, err := netip.ParseAddr(name); err != nil {
				return fmt.Errorf("%s: %q is not a host name or an address without a port", key, name)
			}
		}
	}
	return nil
}

// IsLoopbackURL reports whether a base URL leads to this machine and nowhere else.
func IsLoopbackURL(base string) bool {
	u, err := url.Parse(base)
	return err == nil && isLoopback(u.Hostname())
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
