package calendar

import (
	_ "embed"
	"strconv"
	"strings"
	"sync"
	"time"
	_ "time/tzdata" // the zones, for machines that have none
)

// zones has the zones that were asked for, by name: to read one takes a file. Only
// names that exist get in, and there are some hundred.
var zones sync.Map

//go:embed zones.txt
var zoneNames string

// Zones returns names of time zones, to find what a misspelt one was meant to be. A
// zone may exist that is not among them.
func Zones() []string { return strings.Fields(zoneNames) }

// loadZone returns a zone by its name in the tz database; "" is UTC.
func loadZone(name string) (*time.Location, error) {
	if z, ok := zones.Load(name); ok {
		return z.(*time.Location), nil
	}
	bad := &FieldError{Field: "timezone", Message: "is " + quote(name) + ", which is not a time zone such as Europe/Brussels"}
	if name == "Local" { // what it is differs from machine to machine
		return nil, bad
	}
	z, err := time.LoadLocation(name)
	if err != nil {
		return nil, bad
	}
	zones.Store(name, z)
	return z, nil
}

// quote returns s in backticks, cut if it is long, fit for one line.
func quote(s string) string {
	const limit = 100
	if len(s) > limit {
		s = s[:limit] + "..."
	}
	q := strconv.Quote(s)
	return "`" + q[1:len(q)-1] + "`"
}
