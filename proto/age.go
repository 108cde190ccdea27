package proto

import (
	"fmt"
	"strings"
	"time"
)

// ParseAge reads how long ago something is: a duration such as 1h30m, or a number of
// days such as 7d. It is not negative.
func ParseAge(s string) (time.Duration, error) {
	text, unit := s, time.Duration(1)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		text, unit = days+"h", 24
	}
	d, err := time.ParseDuration(text)
	if age := d * unit; err == nil && d >= 0 && age/unit == d {
		return age, nil
	}
	return 0, fmt.Errorf("%q is not an age such as 2h or 7d", s)
}
