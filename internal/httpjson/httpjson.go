// Package httpjson is what the HTTP APIs of the Request Manager and the Job
// Runner have in common: strict decoding of JSON bodies, answers, the one shape
// of errors, recovery from panics, metrics by route, and the cluster secret.
//
// Only `*/api` packages import it; it
// imports proto.
package httpjson

import (
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/treadle-run/treadle/proto"
)

// Route is one line of the table of routes of an API.
type Route struct {
	Method string
	Path   string
	Handle echo.HandlerFunc
	// Before run before Handle, in order.
	Before []echo.MiddlewareFunc
}

// New returns an echo that has the routes behind the guard, answers every error in
// the shape of proto.ErrorBody, survives panics of handlers, and counts in metrics.
func New(routes []Route, guard Guard, metrics *Metrics, log *slog.Logger) *echo.Echo {
	e := echo.New()
	e.HTTPErrorHandler = errorHandler(log)
	e.Use(metrics.middleware(log), recovery, guard.middleware())
	for _, r := range routes {
		e.Add(r.Method, r.Path, r.Handle, r.Before...)
	}
	return e
}

// Healthz answers 200 for as long as the process serves.
func Healthz(c echo.Context) error {
	return JSON(c, http.StatusOK, map[string]string{"status": "ok"})
}

// Version returns a handler that says which version this is.
func Version(version string) echo.HandlerFunc {
	return func(c echo.Context) error {
		return JSON(c, http.StatusOK, map[string]string{"version": version})
	}
}

// Expose returns the handler of /metrics: what the registry has, in the format
// that Prometheus reads.
func Expose(r *prometheus.Registry) echo.HandlerFunc {
	return echo.WrapHandler(promhttp.HandlerFor(r, promhttp.HandlerOpts{Registry: r}))
}

// RequestID returns the path parameter "id" if it can be the id of a request, and
// CodeNotFound if it cannot.
func RequestID(c echo.Context) (string, error) {
	id := c.Param("id")
	if !ValidRequestID(id) {
		return "", ErrNoRequest
	}
	return id, nil
}

// ErrNoRequest is the answer to an id that no request has.
var ErrNoRequest = proto.Errorf(proto.CodeNotFound, "no request with that id")

// ValidRequestID reports whether id has the form of the id of a request: 20
// characters of 0-9 and a-v.
func ValidRequestID(id string) bool {
	if len(id) != 20 {
		return false
	}
	for i := range len(id) {
		if c := id[i]; (c < '0' || c > '9') && (c < 'a' || c > 'v') {
			return false
		}
	}
	return true
}
