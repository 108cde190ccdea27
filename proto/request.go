package proto

import (
	"encoding/json"
	"fmt"
	"time"
)

// Request is something that a user asked for.
type Request struct {
	ID    string `json:"id"`
	Type  string `json:"type"` // name of the request spec
	State State  `json:"state"`
	User  string `json:"user"` // who asked
	// Args are the args as the spec and the caller gave them; left out of lists.
	Args       []RequestArg `json:"args,omitempty"`
	CreatedAt  time.Time    `json:"createdAt"`
	StartedAt  *time.Time   `json:"startedAt"`  // first sent to a runner
	FinishedAt *time.Time   `json:"finishedAt"` // reached a final state
	// JobChain is there only when one request is asked for.
	JobChain     *JobChain `json:"JobChain,omitempty"`
	TotalJobs    uint      `json:"totalJobs"`
	FinishedJobs uint      `json:"finishedJobs"`
	// JobRunnerURL is the base URL of the runner that has the request, if one does.
	JobRunnerURL string `json:"jrURL,omitempty"`

	// Host, if not "", is the host whose Job Runners alone run it.
	Host string `json:"host,omitempty"`

	// Reason says why the request ended as it did or waits, where the state alone
	// does not.
	Reason string `json:"reason,omitempty"`
	// StopRequested says that a stop was asked for: the request will end STOPPED.
	StopRequested bool `json:"stopRequested,omitempty"`
	// Epoch counts the hand-overs of the request to a runner.
	Epoch uint64 `json:"epoch"`
}

// The values of RequestArg.Type.
const (
	ArgRequired = "required"
	ArgOptional = "optional"
	ArgStatic   = "static"
)

// RequestArg is an arg of a request or of a request spec.
type RequestArg struct {
	Pos     int    `json:"Pos"` // place in its list of the spec
	Name    string `json:"Name"`
	Desc    string `json:"Desc"`
	Type    string `json:"Type"`  // ArgRequired, ArgOptional or ArgStatic
	Given   bool   `json:"Given"` // by the caller
	Default any    `json:"Default"`
	Value   any    `json:"Value"`

	// ValueType is the type that the spec asks for: string, int, float, bool, list,
	// object, or "" for any.
	ValueType string `json:"ValueType,omitempty"`
	Enum      []any  `json:"Enum,omitempty"`
	Pattern   string `json:"Pattern,omitempty"`
	// Secret args are shown as SecretMask.
	Secret bool `json:"Secret,omitempty"`
}

// plainArg is RequestArg without its methods.
type plainArg RequestArg

// MarshalJSON writes the values so that their types survive, see Values.
func (a RequestArg) MarshalJSON() ([]byte, error) {
	out := struct {
		plainArg
		Default json.RawMessage `json:"Default"`
		Value   json.RawMessage `json:"Value"`
		Enum    json.RawMessage `json:"Enum,omitempty"`
	}{plainArg: plainArg(a)}
	var err error
	if out.Default, err = EncodeValue(a.Default); err != nil {
		return nil, fmt.Errorf("default of arg %s: %w", a.Name, err)
	}
	if out.Value, err = EncodeValue(a.Value); err != nil {
		return nil, fmt.Errorf("arg %s: %w", a.Name, err)
	}
	if len(a.Enum) > 0 {
		if out.Enum, err = EncodeValue(a.Enum); err != nil {
			return nil, fmt.Errorf("enum of arg %s: %w", a.Name, err)
		}
	}
	return json.Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (a *RequestArg) UnmarshalJSON(b []byte) error {
	if err := json.Unmarshal(b, (*plainArg)(a)); err != nil {
		return err
	}
	v, err := DecodeValue(b) // once more, for the types of the values
	if err != nil {
		return err
	}
	fields, _ := v.(map[string]any)
	a.Default, a.Value = fields["Default"], fields["Value"]
	a.Enum, _ = fields["Enum"].([]any)
	return nil
}

// SecretMask stands wherever a secret value would.
const SecretMask = "******"

// RequestSpec is a request that users can ask for.
type RequestSpec struct {
	Name string       `json:"Name"`
	Args []RequestArg `json:"Args"`
}

// CreateRequest is the body of POST /api/v1/requests.
type CreateRequest struct {
	Type string `json:"Type"`
	Args Values `json:"Args"`
	User string `json:"User"` // ignored: the caller's name is used
	// Host, if not "", is the host whose Job Runners alone run it. A request waits
	// while none is there.
	Host string `json:"host,omitempty"`
}

// RequestFilter says which requests a list has. Zero fields do not filter.
type RequestFilter struct {
	Type   string
	User   string
	States []State
	// Args has texts of values by name of arg; all must match.
	Args map[string]string
	// Since leaves out requests that finished at or before it.
	Since time.Time
	// Until leaves out requests that were created at or after it.
	Until time.Time
	// Limit is how many requests to return at most; 0 is all. Offset needs a Limit.
	Limit, Offset uint
}

// TimeFormat is how Since and Until are written in a query, in UTC.
const TimeFormat = "2006-01-02T15:04:05.999999Z"
