package database

import (
	"strings"
	"unicode/utf8"

	"github.com/treadle-run/treadle/proto"
)

// MaxReason is how many bytes of a reason are kept; the rest is cut off.
const MaxReason = 4 << 10

// CheckName reports a name that one of the databases would not keep as it is, or that
// has more than limit bytes. The error says what it names.
func CheckName(what, name string, limit int) error {
	switch {
	case len(name) > limit:
		return proto.Errorf(proto.CodeInvalid, "%s: the name has %d bytes: at most %d", what, len(name), limit)
	case strings.HasSuffix(name, " "): // MySQL compares without them
		return proto.Errorf(proto.CodeInvalid, "%s: the name must not end in a space", what)
	case !utf8.ValidString(name):
		return proto.Errorf(proto.CodeInvalid, "%s: the name is not UTF-8", what)
	}
	return nil
}

// CleanText makes x valid UTF-8 of at most limit bytes; 0 is no limit.
func CleanText(x string, limit int) string {
	x = strings.ToValidUTF8(x, "\uFFFD")
	if limit == 0 || len(x) <= limit {
		return x
	}
	for limit > 0 && !utf8.RuneStart(x[limit]) {
		limit--
	}
	return x[:limit]
}

// CleanReason is cleanText of a reason.
func CleanReason(x string) string { return CleanText(x, MaxReason) }
