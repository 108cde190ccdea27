package term

import (
	"fmt"
	"time"
)

// TimeLayout is how times may be written, in the local zone.
const TimeLayout = "2006-01-02 15:04:05"

// When writes a time in the local zone, with the name of the zone, and how long ago or how far ahead it is.
func (o *Out) When(t time.Time) string {
	if t.IsZero() {
		return Dash
	}
	return fmt.Sprintf("%s (%s)", t.Local().Format(TimeLayout+" MST"), Age(o.Now().Sub(t)))
}

// Age writes how long ago something was, or how far ahead it is.
func Age(d time.Duration) string {
	switch {
	case d < -5*time.Second:
		return "in " + span(-d)
	case d < 0:
		return "now" // clocks differ a little
	}
	return span(d) + " ago"
}

// span writes a length of time in its largest unit.
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// Length writes how long something took, rounded.
func Length(d time.Duration) string {
	switch {
	case d < 0:
		return "0s"
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
