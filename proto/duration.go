package proto

import (
	"encoding/json"
	"fmt"
	"time"
)

// Duration is a length of time that is written as Go writes it, such as "3s"; no
// time at all is the empty string.
type Duration time.Duration

// String returns the duration as Go writes it; "" for none.
func (d Duration) String() string {
	if d == 0 {
		return ""
	}
	return time.Duration(d).String()
}

// MarshalJSON writes the duration as a string.
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(d.String())
}

// UnmarshalJSON reads a string such as "1m30s"; "" is no time.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("expected a duration such as %q", "30s")
	}
	if s == "" {
		*d = 0
		return nil
	}
	t, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("%q is not a duration such as %q", s, "30s")
	}
	*d = Duration(t)
	return nil
}
