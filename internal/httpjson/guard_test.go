package httpjson

import (
	"context"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"
)

// TestGuard is over a real server, so that the address of the connection counts.
func TestGuard(t *testing.T) {
	t.Parallel()
	handle := func(c echo.Context) error { return Healthz(c) }
	guard := Guard{Names: []string{"rm.internal", "Proxy.Example.", "2001:db8::1"}, Certificate: &x509.Certificate{DNSNames: []string{"*.svc.example"}}}
	e := New([]Route{{Method: "POST", Path: "/do", Handle: handle}, {Method: "GET", Path: "/see", Handle: handle}}, guard,
		NewMetrics(prometheus.NewRegistry(), "test"), slog.New(slog.NewTextHandler(t.Output(), nil)))
	srv := httptest.NewServer(e)
	t.Cleanup(srv.Close)
	addr := srv.Listener.Addr().String()
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		t.Fatal(err)
	}
	const form, json = "application/x-www-form-urlencoded", "application/json"

	for name, tc := range map[string]struct {
		call string // method and path
		host string // "" is the address
		head string // headers, separated by |
		want int
	}{
		"a program":                                 {"POST /do", "", "Content-Type: " + json, 200},
		"a program with a charset":                  {"POST /do", "", "Content-Type: application/json; charset=UTF-8", 200},
		"a program that names no type":              {"POST /do", "", "", 200},
		"curl -d":                                   {"POST /do", "", "Content-Type: " + form, 200},
		"the service's own page":                    {"POST /do", "", "Content-Type: application/json|Origin: http://" + addr + "|Sec-Fetch-Site: same-origin", 200},
		"the service's own page, older browser":     {"POST /do", "", "Content-Type: application/json|Origin: http://" + addr, 200},
		"an address that a person typed":            {"GET /see", "", "Sec-Fetch-Site: none|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: document", 200},
		"a link on another site":                    {"GET /see", "", "Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: document", 200},
		"localhost":                                 {"GET /see", "localhost:" + port, "", 200},
		"a name below localhost":                    {"GET /see", "treadle.localhost", "", 200},
		"another loopback address":                  {"GET /see", "127.9.9.9:1", "", 200},
		"IPv6 loopback":                             {"GET /see", "[::1]:" + port, "", 200},
		"IPv4 in IPv6":                              {"GET /see", "[::ffff:127.0.0.1]", "", 200},
		"a configured name":                         {"GET /see", "rm.internal:443", "", 200},
		"a configured name in capitals and dotted":  {"GET /see", "PROXY.example.:8080", "", 200},
		"a configured IPv6 address":                 {"GET /see", "[2001:db8::1]:80", "", 200},
		"a name of the certificate":                 {"GET /see", "a.svc.example", "", 200},
		"a page of another site, text":              {"POST /do", "", "Content-Type: text/plain|Origin: https://evil.example|Sec-Fetch-Site: cross-site", 403},
		"a page of another site, JSON":              {"POST /do", "", "Content-Type: application/json|Origin: https://evil.example|Sec-Fetch-Site: cross-site", 403},
		"a page of another site, older browser":     {"POST /do", "", "Content-Type: application/json|Origin: https://evil.example", 403},
		"a page of another port":                    {"POST /do", "", "Content-Type: application/json|Origin: http://127.0.0.1:1|Sec-Fetch-Site: same-site", 403},
		"a page without an origin, such as a file":  {"POST /do", "", "Content-Type: application/json|Origin: null", 403},
		"a page of another site that only reads":    {"GET /see", "", "Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: cors|Sec-Fetch-Dest: empty", 403},
		"a frame on another site":                   {"GET /see", "", "Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: iframe", 403},
		"a form on another site that navigates":     {"POST /do", "", "Content-Type: " + form + "|Origin: https://evil.example|Sec-Fetch-Site: cross-site|Sec-Fetch-Mode: navigate|Sec-Fetch-Dest: document", 403},
		"a page of another site, unknown path":      {"POST /nothing", "", "Origin: https://evil.example", 403},
		"a preflight":                               {"OPTIONS /do", "", "Origin: https://evil.example|Access-Control-Request-Method: POST", 403},
		"a form of the service's own origin":        {"POST /do", "", "Content-Type: " + form + "|Origin: http://" + addr + "|Sec-Fetch-Site: same-origin", 415},
		"text":                                      {"POST /do", "", "Content-Type: text/plain", 415},
		"a form with files":                         {"POST /do", "", "Content-Type: multipart/form-data; boundary=x", 415},
		"JSON in another charset":                   {"POST /do", "", "Content-Type: application/json; charset=utf-16", 415},
		"two types":                                 {"POST /do", "", "Content-Type: application/json|Content-Type: text/plain", 415},
		"a malformed type":                          {"POST /do", "", "Content-Type: application/json;;=", 415},
		"a browser that names no type":              {"POST /do", "", "Origin: http://" + addr, 415},
		"a rebound name":                            {"GET /see", "evil.example:" + port, "", 421},
		"a rebound name, unknown path":              {"GET /nothing", "evil.example:" + port, "", 421},
		"a rebound name that ends like one of ours": {"POST /do", "evil-rm.internal", "Content-Type: " + json, 421},
		"a name that begins like localhost":         {"GET /see", "localhost.evil.example", "", 421},
		"an address that the service does not have": {"GET /see", "192.0.2.1:" + port, "", 421},
		"a name below one of the certificate":       {"GET /see", "a.b.svc.example", "", 421},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			method, path, _ := strings.Cut(tc.call, " ")
			var body io.Reader
			if method != "GET" {
				body = strings.NewReader("{}")
			}
			r, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, body)
			if err != nil {
				t.Fatal(err)
			}
			r.Host = tc.host
			for _, h := range strings.Split(tc.head, "|") {
				if k, v, ok := strings.Cut(h, ": "); ok {
					r.Header.Add(k, v)
				}
			}
			resp, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != tc.want {
				t.Errorf("got %d, want %d", resp.StatusCode, tc.want)
			}
		})
	}

	t.Run("no Host at all", func(t *testing.T) {
		t.Parallel()
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(context.Background(), "GET", "http://localhost/see", nil)
		r.Host = ""
		e.ServeHTTP(w, r)
		if w.Code != http.StatusMisdirectedRequest {
			t.Errorf("got %d", w.Code)
		}
	})
}
