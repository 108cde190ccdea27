package httpjson

import (
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
)

// Metrics counts and times HTTP calls by method, route and status.
type Metrics struct {
	calls   *prometheus.CounterVec
	seconds *prometheus.HistogramVec
}

// NewMetrics registers the metrics of a service ("request-manager") with r. Two
// services may share a registry.
func NewMetrics(r prometheus.Registerer, service string) *Metrics {
	labels := prometheus.Labels{"service": service}
	m := &Metrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "treadle_http_requests_total", Help: "HTTP calls answered, by route and status.", ConstLabels: labels,
		}, []string{"method", "route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "treadle_http_request_seconds", Help: "Time to answer an HTTP call; event streams are left out.", ConstLabels: labels,
			Buckets: []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30},
		}, []string{"method", "route"}),
	}
	r.MustRegister(m.calls, m.seconds)
	return m
}

// middleware answers errors itself, so that it sees the status of every call.
func (m *Metrics) middleware(log *slog.Logger) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			start := time.Now()
			if err := next(c); err != nil {
				c.Error(err)
			}
			took := time.Since(start)
			r, status := c.Request(), c.Response().Status
			method, route := methodLabel(r.Method), routeLabel(c)
			m.calls.WithLabelValues(method, route, strconv.Itoa(status)).Inc()
			if !strings.HasPrefix(c.Response().Header().Get(echo.HeaderContentType), EventStream) {
				m.seconds.WithLabelValues(method, route).Observe(took.Seconds())
			}
			if log.Enabled(r.Context(), slog.LevelDebug) {
				log.Debug("answered", "method", r.Method, "path", r.URL.Path, "status", status, "took", took)
			}
			return nil
		}
	}
}

// EventStream is the content type of server-sent events.
const EventStream = "text/event-stream"

// routeLabel and methodLabel keep what callers make up out of the labels: each
// value would be a series of its own.
func routeLabel(c echo.Context) string {
	if p := c.Path(); p != "" {
		return p
	}
	return "none"
}

func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodHead, http.MethodPatch, http.MethodOptions:
		return method
	}
	return "other"
}
