package proto

// Limits that more than one part of Treadle holds to. Those of names are in names.go.
const (
	// DefaultArgsSize is the limit of the JSON of a request's args, in bytes, where the
	// configuration says nothing else.
	DefaultArgsSize = 1 << 20
	// DefaultDataSize is the limit of the JSON of the job data that one job sets, in
	// bytes, where the configuration says nothing else.
	DefaultDataSize = 1 << 20
	// MaxMissedCap is the limit of App.MissedCap.
	MaxMissedCap = 10_000
)
