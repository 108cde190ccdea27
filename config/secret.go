package config

import "log/slog"

// Secret is a value that must not be seen: it prints as stars everywhere.
// string(s) has the value.
type Secret string

// String returns stars, or nothing if there is no value.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "******"
}

// GoString is String: %#v shows no more than %v.
func (s Secret) GoString() string { return s.String() }

// MarshalText is String, so that no encoder shows the value.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue is String, so that no log shows the value.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
