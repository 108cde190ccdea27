package proto

// UndoInstance says what becomes of an instance whose undo keeps failing.
type UndoInstance struct {
	Instance string `json:"instance"` // its name
	Do       string `json:"do"`       // UndoRetry or UndoGiveUp
}

// What can be done about an undo that keeps failing.
const (
	UndoRetry  = "retry"   // it is tried now, and not only when its wait is over
	UndoGiveUp = "give-up" // the instance ends FAILED, and what it left stays
)
