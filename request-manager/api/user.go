package api

import (
	"context"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/treadle-run/treadle/proto"
)

// UserHeader has the name of the caller. It is believed: the service listens on
// loopback, or behind something that sets it.
const UserHeader = "X-Treadle-User"

// Anonymous is the caller who did not give a name.
const Anonymous = "anonymous"

// maxUser is the most bytes of the name of a caller.
const maxUser = 100

const userKey = "treadle.user"

// identify finds out who calls. It is the one place that does.
func identify(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		name := strings.TrimSpace(c.Request().Header.Get(UserHeader))
		if name == "" {
			name = Anonymous
		}
		if len(name) > maxUser || !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
			return proto.Errorf(proto.CodeInvalid, "header %s: expected a name of at most %d bytes without control characters", UserHeader, maxUser)
		}
		c.Set(userKey, name)
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
		defer c.SetRequest(r) // whoever answers an error looks whether the caller is there still
		return next(c)
	}
}

// caller returns who calls, as identify found out.
func caller(c echo.Context) string {
	name, _ := c.Get(userKey).(string)
	return name
}
