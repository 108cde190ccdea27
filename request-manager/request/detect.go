package request

import (
	"fmt"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// snapshot is what a manager knows of the runners at one moment. Its times are by
// the clock of the manager's process: that of the database may be set.
type snapshot struct {
	// registered are the runners of the registry.
	registered []sighting
	// recorded are runners that hold requests although they are recorded as dead.
	recorded []string
	// absentSince says of runners that hold requests and are not registered since when
	// that is so.
	absentSince map[string]time.Time
	// databaseSince is since when this manager has reached the database without a
	// break; zero if it has not.
	databaseSince time.Time
	// sharedURLs are the URLs at which several runners live.
	sharedURLs map[string]bool
}

// sighting is a registered runner, and when this manager first read its newest
// heartbeat.
type sighting struct {
	proto.Runner
	seen time.Time
	// live says that the heartbeat was newly read by this manager, and not already there
	// when it first read the registry.
	live bool
}

// death is how it is known that a runner is dead.
type death struct {
	why string
	// takeover, if not nil, says which process took its place.
	takeover *takeover
}

// takeover is a process that registered at the address of another one.
type takeover struct {
	url      string
	from, to process
}

// process tells processes apart, across the IDs that one has had.
type process struct {
	host string
	pid  int
}

func processOf(r proto.Runner) process { return process{r.Host, r.PID} }

// detect returns the runners that cannot be running anything any more, by id: those
// not seen for longer than the limit, and those whose place another process has
// taken. A runner that is not registered counts as dead only if this manager has
// had the database for all of the limit: one that lives registers with its next
// heartbeat.
func detect(s snapshot, now time.Time, limit time.Duration) map[string]death {
	newest := map[string]sighting{} // by URL
	for _, x := range s.registered {
		if n, ok := newest[x.URL]; !ok || !x.StartedAt.Before(n.StartedAt) {
			newest[x.URL] = x
		}
	}
	dead := map[string]death{}
	for _, x := range s.registered {
		switch n := newest[x.URL]; {
		case n.ID == x.ID || !n.replaces(x, s.sharedURLs[x.URL]):
			if silent := now.Sub(x.seen); silent > limit {
				dead[x.ID] = death{why: fmt.Sprintf("its job runner has not been seen for %s", silent.Round(time.Second))}
			}
		case processOf(n.Runner) == processOf(x.Runner):
			dead[x.ID] = death{why: "its job runner lost its lease and has registered again"}
		default:
			dead[x.ID] = death{
				fmt.Sprintf("another process (%d on %s) is at the address of its job runner", n.PID, n.Host),
				&takeover{x.URL, processOf(x.Runner), processOf(n.Runner)},
			}
		}
	}
	for _, id := range s.recorded {
		dead[id] = death{why: "its job runner was declared dead before"}
	}
	if s.databaseSince.IsZero() || now.Sub(s.databaseSince) <= limit {
		return dead
	}
	for id, since := range s.absentSince {
		if now.Sub(since) > limit {
			dead[id] = death{why: "its job runner is no longer registered"}
		}
	}
	return dead
}

// replaces reports whether a newer runner has taken the place of another one at the
// same URL for certain: this manager has seen it, and has not seen the other one
// since. When each of them registered is by the clock of the database, which may be
// set.
func (n sighting) replaces(x sighting, shared bool) bool {
	return n.live && !n.seen.Before(x.seen) && (processOf(n.Runner) == processOf(x.Runner) || !shared)
}
