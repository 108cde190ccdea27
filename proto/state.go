package proto

import "fmt"

// State is the state of a request, of a job in a job chain, or of one try of a
// job. On the wire and in the database it is its number.
type State uint8

// The states and their numbers on the wire. 5 is reserved.
const (
	StateUnknown   State = 0
	StatePending   State = 1 // not started yet
	StateRunning   State = 2
	StateComplete  State = 3 // ended well
	StateFail      State = 4 // ended badly
	StateStopped   State = 6 // ended because somebody asked for it
	StateSuspended State = 7 // between two runners; requests only
)

var stateNames = map[State]string{
	StateUnknown:   "UNKNOWN",
	StatePending:   "PENDING",
	StateRunning:   "RUNNING",
	StateComplete:  "COMPLETE",
	StateFail:      "FAIL",
	StateStopped:   "STOPPED",
	StateSuspended: "SUSPENDED",
}

// States lists the states that a request can be in, in the order of their numbers.
func States() []State {
	return []State{StatePending, StateRunning, StateComplete, StateFail, StateStopped, StateSuspended}
}

// String returns the name of the state, such as "RUNNING".
func (s State) String() string {
	if name, ok := stateNames[s]; ok {
		return name
	}
	return fmt.Sprintf("State(%d)", uint8(s))
}

// ParseState returns the state with the given name, such as "RUNNING".
func ParseState(name string) (State, error) {
	for s, n := range stateNames {
		if n == name && s != StateUnknown {
			return s, nil
		}
	}
	return StateUnknown, fmt.Errorf("unknown state %q: expected one of PENDING, RUNNING, COMPLETE, FAIL, STOPPED, SUSPENDED", name)
}

// Final reports whether a request or a job in this state never changes again
// by itself.
func (s State) Final() bool {
	return s == StateComplete || s == StateFail || s == StateStopped
}
