package proto

import (
	"testing"
	"time"
)

func TestParseAge(t *testing.T) {
	t.Parallel()
	for s, want := range map[string]time.Duration{"0s": 0, "90s": 90 * time.Second, "1h30m": 90 * time.Minute, "7d": 7 * 24 * time.Hour, "0.5d": 12 * time.Hour} {
		if got, err := ParseAge(s); err != nil || got != want {
			t.Errorf("ParseAge(%q) = %s, %v; want %s", s, got, err, want)
		}
	}
	for _, s := range []string{"", "d", "h", "7", "-1h", "-1d", "soon", "7days", "2000000d", "1d1h"} {
		if got, err := ParseAge(s); err == nil {
			t.Errorf("ParseAge(%q) = %s", s, got)
		}
	}
}
