package calendar

import (
	"encoding/binary"
	"hash/fnv"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// Name returns the name of the instance of an app whose period starts at start: the
// wall-clock time in the zone and the app, such as 2011-01-02-1300-counter. Seconds
// are there only if they are not 0. Of two starts that the clock shows alike, the later
// one has its offset from UTC too, such as 2026-11-01-0130-0500-counter: names of one
// app are never equal.
func (c *Calendar) Name(start time.Time, app string) string {
	t := start.In(c.zone)
	layout := "2006-01-02-1504"
	switch {
	case t.Nanosecond() != 0:
		layout += "05.000"
	case t.Second() != 0:
		layout += "05"
	}
	s := segmentAt(start, c.zone)
	w := wall{zone: c.zone}
	if w.shownBefore(s.clock(start), s) {
		layout += "-0700"
	}
	return t.Format(layout) + "-" + app
}

// Jitter returns by how much the start of an instance is put off: less than
// app.Jitter, and always the same for the same app and start.
func (c *Calendar) Jitter(app proto.App, start time.Time) time.Duration {
	jitter := uint64(max(0, time.Duration(app.Jitter)/time.Microsecond))
	if jitter == 0 {
		return 0
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(app.Name)) // a hash takes all
	_, _ = h.Write(binary.BigEndian.AppendUint64([]byte{0}, uint64(start.UnixMicro())))
	return time.Duration(mix(h.Sum64())%jitter) * time.Microsecond
}

// mix spreads what differs in a few bits over all of them, so that two starts in a row
// get times that have nothing to do with each other.
func mix(x uint64) uint64 {
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}
