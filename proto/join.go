package proto

import (
	"fmt"
	"strings"
)

// MaxNames is how many names a message lists.
const MaxNames = 10

// Names returns the names with commas between them: at most the first ten, and how
// many there are beyond these.
func Names(all []string) string { return JoinNames(all, ", ") }

// JoinNames is Names with another separator.
func JoinNames(all []string, separator string) string {
	if more := len(all) - MaxNames; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(all[:MaxNames], separator), more)
	}
	return strings.Join(all, separator)
}
