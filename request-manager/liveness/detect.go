package liveness

import (
	"fmt"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// Snapshot is what a manager knows of the runners at one moment. Its times are by
// the clock of the manager's process: that of the database may be set.
type Snapshot struct {
	// registered are the runners of the registry.
	registered []Sighting
	// recorded are runners that hold requests although they are recorded as dead.
	recorded []string
	// absentSince says of runners that hold requests and are not registered since when
	// that is so.
	absentSince map[string]time.Time
	// DatabaseSince is since when this manager has reached the database without a
	// break; zero if it has not.
	DatabaseSince time.Time
	// sharedURLs are the URLs at which several runners live.
	sharedURLs map[string]bool
}

// Sighting is a registered runner, and when this manager first read its newest
// heartbeat.
type Sighting struct {
	proto.Runner
	seen time.Time
	// live says that the heartbeat was newly read by this manager, and not already there
	// when it first read the registry.
	live bool
}

// Death is how it is known that a runner is dead.
type Death struct {
	Why string
	// takeover, if not nil, says which process took its place.
	Takeover *Takeover
}

// Takeover is a process that registered at the address of another one.
type Takeover struct {
	url      string
	from, to process
}

// process tells processes apart, across the IDs that one has had.
type process struct {
	host string
	pid  int
}

func processOf(r proto.Runner) process { return process{r.Host, r.PID} }

// Detect returns the runners that cannot be running anything any more, by id: those
// not seen for longer than the limit, and those whose place another process has
// taken. A runner that is not registered counts as dead only if this manager has
// had the database for all of the limit: one that lives registers with its next
// heartbeat.
func Detect(s Snapshot, now time.Time, limit time.Duration) map[string]Death {
	newest := map[string]Sighting{} // by URL
	for _, x := range s.registered {
		if n, ok := newest[x.URL]; !ok || !x.StartedAt.Before(n.StartedAt) {
			newest[x.URL] = x
		}
	}
	dead := map[string]Death{}
	for _, x := range s.registered {
		switch n := newest[x.URL]; {
		case n.ID == x.ID || !n.replaces(x, s.sharedURLs[x.URL]):
			if silent := now.Sub(x.seen); silent > limit {
				dead[x.ID] = Death{Why: fmt.Sprintf("its job runner has not been seen for %s", silent.Round(time.Second))}
			}
		case processOf(n.Runner) == processOf(x.Runner):
			dead[x.ID] = Death{Why: "its job runner lost its lease and has registered again"}
		default:
			dead[x.ID] = Death{
				fmt.Sprintf("another process (%d on %s) is at the address of its job runner", n.PID, n.Host),
				&Takeover{x.URL, processOf(x.Runner), processOf(n.Runner)},
			}
		}
	}
	for _, id := range s.recorded {
		dead[id] = Death{Why: "its job runner was declared dead before"}
	}
	if s.DatabaseSince.IsZero() || now.Sub(s.DatabaseSince) <= limit {
		return dead
	}
	for id, since := range s.absentSince {
		if now.Sub(since) > limit {
			dead[id] = Death{Why: "its job runner is no longer registered"}
		}
	}
	return dead
}

// replaces reports whether a newer runner has taken the place of another one at the
// same URL for certain: this manager has seen it, and has not seen the other one
// since. When each of them registered is by the clock of the database, which may be
// set.
func (n Sighting) replaces(x Sighting, shared bool) bool {
	return n.live && !n.seen.Before(x.seen) && (processOf(n.Runner) == processOf(x.Runner) || !shared)
}
