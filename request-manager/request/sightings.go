package request

import (
	"maps"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// maxTakeovers is how many takeovers are remembered.
const maxTakeovers = 1000

// sightings is what a manager remembers of the runners between two reads of the
// registry. Only the loop of the recoverer uses it.
type sightings struct {
	seen map[string]sighting // by runner id
	// looking says that the registry was read before.
	looking bool
	// databaseSince is since when the database has answered without a break.
	databaseSince time.Time
	// absentSince has runners that hold requests and are not registered: a manager handed
	// a request over to a runner that had just been removed as dead, and then ended
	// itself.
	absentSince map[string]time.Time
	// takeovers has runners that were declared dead because another process registered
	// at their address, by id. A process that comes back after that shows that both
	// live: sharedURLs has the URLs of such runners, where the rule does not hold.
	takeovers  map[string]takeover
	sharedURLs map[string]bool
}

func newSightings() *sightings {
	s := &sightings{takeovers: map[string]takeover{}, sharedURLs: map[string]bool{}, absentSince: map[string]time.Time{}}
	s.interrupt()
	return s
}

// interrupt records that the database was unavailable: that time does not count as
// silence of the runners.
func (s *sightings) interrupt() {
	s.seen, s.looking, s.databaseSince = map[string]sighting{}, false, time.Time{}
}

// record records the registered runners. It returns those of which it is new that they
// share their address with another one.
func (s *sightings) record(runners []proto.Runner) (sharing []proto.Runner) {
	seen := make(map[string]sighting, len(runners))
	for _, r := range runners {
		last, known := s.seen[r.ID]
		x := sighting{Runner: r, seen: last.seen, live: last.live}
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
func (s *sightings) isBack(r proto.Runner) bool {
	for _, t := range s.takeovers {
		if t.url == r.URL && t.from == processOf(r) && t.to != processOf(r) {
			return true
		}
	}
	return false
}

// recordAbsent records the runners that hold requests and are not registered.
func (s *sightings) recordAbsent(absent map[string]int) {
	maps.DeleteFunc(s.absentSince, func(id string, _ time.Time) bool { return absent[id] == 0 })
	for id := range absent {
		if _, known := s.absentSince[id]; !known {
			s.absentSince[id] = time.Now()
		}
	}
}

// recordTakeover records that a dead runner was replaced.
func (s *sightings) recordTakeover(id string, t takeover) {
	if len(s.takeovers) >= maxTakeovers {
		clear(s.takeovers)
	}
	s.takeovers[id] = t
}

// snapshot returns what is known of the runners, in their order, and of those that
// are recorded as dead.
func (s *sightings) snapshot(runners []proto.Runner, recorded []string) snapshot {
	registered := make([]sighting, len(runners))
	for i, r := range runners {
		registered[i] = s.seen[r.ID]
	}
	return snapshot{registered, recorded, s.absentSince, s.databaseSince, s.sharedURLs}
}
