package builtin

import (
	"fmt"
	"strconv"
)

// quote shows s in a message, or only how long it is. A part of a long text is
// not shown: it may be a part of a secret, which no one would recognise and mask.
func quote(s string) string {
	const limit = 60
	if len(s) <= limit {
		return strconv.Quote(s)
	}
	return fmt.Sprintf("of %d bytes", len(s))
}
