package liveness

import (
	"maps"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// maxTakeovers is how many takeovers are remembered.
const maxTakeovers = 1000

// Sightings is what a manager remembers of the runners between two reads of the
// registry. Only the loop of the recoverer uses it.
type Sightings struct {
	seen map[string]Sighting // by runner id
	// looking says that the registry was read before.
	looking bool
	// DatabaseSince is since when the database has answered without a break.
	DatabaseSince time.Time
	// absentSince has runners that hold requests and are not registered: a manager handed
	// a request over to a runner that had just been removed as dead, and then ended
	// itself.
	absentSince map[string]time.Time
	// takeovers has runners that were declared dead because another process registered
	// at their address, by id. A process that comes back after that shows that both
	// live: sharedURLs has the URLs of such runners, where the rule does not hold.
	takeovers  map[string]Takeover
	sharedURLs map[string]bool
}

// NewSightings returns the memory of a manager that has just started.
func NewSightings() *Sightings {
	s := &Sightings{takeovers: map[string]Takeover{}, sharedURLs: map[string]bool{}, absentSince: map[string]time.Time{}}
	s.Interrupt()
	return s
}

// Interrupt records that the database was unavailable: that time does not count as
// silence of the runners.
func (s *Sightings) Interrupt() {
	s.seen, s.looking, s.DatabaseSince = map[string]Sighting{}, false, time.Time{}
}

// Record records the registered runners. It returns those of which it is new that they
// share their address with another one.
func (s *Sightings) Record(runners []proto.Runner) (sharing []proto.Runner) {
	seen := make(map[string]Sighting, len(runners))
	for _, r := range runners {
		last, known := s.seen[r.ID]
		x := Sighting{Runner: r, seen: last.seen, live: last.live}
		if !known || !last.HeartbeatAt.Equal(r.HeartbeatAt) {
			x.seen, x.live = time.Now(), known || s.looking
		}
		seen[r.ID] = x
		if !s.sharedURLs[r.URL] && s.isBack(r) {
			s.sharedURLs[r.URL] = true
			sharing = append(sharing, r)
		}
	}
	s.seen, s.looking = seen, true
	return sharing
}

// isBack reports whether a process is at an address where another one had taken its
// place.
func (s *Sightings) isBack(r proto.Runner) bool {
	for _, t := range s.takeovers {
		if t.url == r.URL && t.from == processOf(r) && t.to != processOf(r) {
			return true
		}
	}
	return false
}

// RecordAbsent records the runners that hold requests and are not registered.
func (s *Sightings) RecordAbsent(absent map[string]int) {
	maps.DeleteFunc(s.absentSince, func(id string, _ time.Time) bool { return absent[id] == 0 })
	for id := range absent {
		if _, known := s.absentSince[id]; !known {
			s.absentSince[id] = time.Now()
		}
	}
}

// RecordTakeover records that a dead runner was replaced.
func (s *Sightings) RecordTakeover(id string, t Takeover) {
	if len(s.takeovers) >= maxTakeovers {
		clear(s.takeovers)
	}
	s.takeovers[id] = t
}

// Snapshot returns what is known of the runners, in their order, and of those that
// are recorded as dead.
func (s *Sightings) Snapshot(runners []proto.Runner, recorded []string) Snapshot {
	registered := make([]Sighting, len(runners))
	for i, r := range runners {
		registered[i] = s.seen[r.ID]
	}
	return Snapshot{registered, recorded, s.absentSince, s.DatabaseSince, s.sharedURLs}
}
