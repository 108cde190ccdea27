package httpjson

import (
	"crypto/sha256"
	"crypto/subtle"

	"github.com/labstack/echo/v4"

	"github.com/treadle-run/treadle/proto"
)

// secretScheme stands before the cluster secret in the Authorization header.
const secretScheme = "Treadle "

// Secret returns middleware that answers 401 to callers that do not know the
// secret of the cluster. Without a secret everybody passes.
func Secret(secret string) echo.MiddlewareFunc {
	if secret == "" {
		return func(next echo.HandlerFunc) echo.HandlerFunc { return next }
	}
	// Sums have one length, so that the time of the comparison says nothing.
	want := sha256.Sum256([]byte(secretScheme + secret))
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			got := sha256.Sum256([]byte(c.Request().Header.Get(echo.HeaderAuthorization)))
			if subtle.ConstantTimeCompare(got[:], want[:]) != 1 {
				return proto.Errorf(proto.CodeUnauthorized, "this route is for services and operators of this installation: the cluster secret is missing or wrong (cluster.secret)")
			}
			return next(c)
		}
	}
}
