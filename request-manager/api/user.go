package api

import (
	"cmp"
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
	"golang.org/x/text/unicode/norm"

	"github.com/treadle-run/treadle/proto"
)

// UserHeader has the name of the caller. It is believed: the service listens on
// loopback, or behind something that sets it.
const UserHeader = "X-Treadle-User"

// anonymous is the name of a caller that did not give one.
const anonymous = "anonymous"

// maxUser is the limit of the name of a caller, in bytes.
const maxUser = 100

// userName returns the one form of a name, so that names which look alike are the
// same user: composed characters (Unicode NFC) and single spaces. ok is false for a
// name that is too long, or has characters that are not seen or move others: control,
// bidirectional, zero-width and other ignorable ones.
func userName(s string) (name string, ok bool) {
	if len(s) > 4*maxUser || !utf8.ValidString(s) || strings.ContainsFunc(s, isInvisible) {
		return "", false
	}
	name = strings.Join(strings.Fields(norm.NFC.String(s)), " ")
	return name, len(name) <= maxUser
}

func isInvisible(r rune) bool {
	return unicode.IsControl(r) || r == '\u2800' || // a braille pattern without dots
		unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp, unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point)
}

const userKey = "treadle.user"

// identify determines the caller, here and nowhere else.
func identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		headers := c.Request().Header.Values(UserHeader)
		if len(headers) > 1 {
			// A proxy that sets it must replace what the caller sent, or callers choose names.
			return proto.Errorf(proto.CodeInvalid, "header %s: expected one, got %d", UserHeader, len(headers))
		}
		name, ok := userName(strings.Join(headers, ""))
		if !ok {
			return proto.Errorf(proto.CodeInvalid, "header %s: expected a name of at most %d bytes without control or invisible characters", UserHeader, maxUser)
		}
		c.Set(userKey, cmp.Or(name, anonymous))
		return next(c)
	}
}

// userTimeout bounds what a user waits for, such as a database that does not answer.
const userTimeout = 30 * time.Second

// inTime ends a call that takes too long: it is answered 503.
func inTime(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		ctx, cancel := context.WithTimeout(r.Context(), userTimeout)
		defer cancel()
		c.SetRequest(r.WithContext(ctx))
		defer c.SetRequest(r) // the error handler checks whether the caller still waits
		return next(c)
	}
}

// caller returns the name that identify determined.
func caller(c echo.Context) string {
	name, _ := c.Get(userKey).(string)
	return name
}
