package httpjson

import (
	"crypto/tls"
	"crypto/x509"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/treadle-run/treadle/proto"
)

// Guard keeps web pages from using a visitor's browser to reach the service: a page
// of another site that calls it (cross-site request forgery), and a page whose own
// name was made to point at the service (DNS rebinding). It stands before every
// route, known or not, event streams included.
//
// A caller that is not a browser is not affected, as long as it uses a name of the
// service.
type Guard struct {
	// Names are the host names and addresses, without a port, that the service is
	// reached by, besides loopback names, the address that the connection was made
	// to, and the names of Certificate.
	Names []string
	// Certificate, if not nil, is what the service proves its names with.
	Certificate *x509.Certificate
}

// ServerCertificate returns the certificate that a server with this configuration
// shows, or nil if it shows none.
func ServerCertificate(c *tls.Config) *x509.Certificate {
	if c == nil || len(c.Certificates) == 0 {
		return nil
	}
	return c.Certificates[0].Leaf
}

// middleware refuses what the guard does not let through: 421 for a Host that is not
// a name of the service, 403 for a cross-origin request of a browser, 415 for a body
// that is not JSON.
func (g Guard) middleware() echo.MiddlewareFunc {
	names := make(map[string]bool, len(g.Names))
	for _, name := range g.Names {
		names[canonicalHost(name)] = true
	}
	crossOrigin := http.NewCrossOriginProtection()
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(c echo.Context) error {
			r := c.Request()
			if host := hostOf(r.Host); !names[host] && !g.isOwn(r, host) {
				return proto.Errorf(proto.CodeMisdirected, "this service has no such host name: if it should, add it to server.names")
			}
			if !isNavigation(r) && crossOrigin.Check(asUnsafe(r)) != nil {
				return proto.Errorf(proto.CodeForbidden, "a web page of another origin may not call this service")
			}
			if !isJSON(r) {
				return proto.Errorf(proto.CodeMediaType, "header Content-Type: expected application/json")
			}
			return next(c)
		}
	}
}

// isOwn reports whether host is a name that the service has without being told.
func (g Guard) isOwn(r *http.Request, host string) bool {
	if host == "localhost" || strings.HasSuffix(host, ".localhost") { // RFC 6761: always loopback
		return true
	}
	if ip, err := netip.ParseAddr(host); err == nil {
		ip = ip.Unmap().WithZone("")
		if ip.IsLoopback() || ip == localAddr(r) {
			return true
		}
	}
	return g.Certificate != nil && host != "" && g.Certificate.VerifyHostname(host) == nil
}

// localAddr returns the address that the connection of the request was made to.
func localAddr(r *http.Request) netip.Addr {
	addr, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if addr == nil {
		return netip.Addr{}
	}
	ap, err := netip.ParseAddrPort(addr.String())
	if err != nil {
		return netip.Addr{}
	}
	return ap.Addr().Unmap().WithZone("")
}

// hostOf returns the host of a Host header, without its port.
func hostOf(header string) string {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = header
	}
	return canonicalHost(host)
}

// canonicalHost returns the one spelling of a host name or address.
func canonicalHost(host string) string {
	host = strings.TrimSuffix(strings.ToLower(host), ".")
	return strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
}

// isNavigation reports whether a browser follows a link or an address that was typed,
// in a window of its own: what it shows, no other page can read.
func isNavigation(r *http.Request) bool {
	return (r.Method == http.MethodGet || r.Method == http.MethodHead) &&
		r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// asUnsafe returns r with a method that http.CrossOriginProtection looks at: a GET
// counts too, since what it starts (an event stream, a scan of a large table) costs
// the service, and other browsers than today's may let the page see the answer.
func asUnsafe(r *http.Request) *http.Request {
	post := *r
	post.Method = http.MethodPost
	return &post
}

// isJSON reports whether the body of r, if it has one, may be read as JSON.
//
// Clients that name no type are taken at their word. So is curl, whose -d names the
// type of forms; a browser that sends a form says so by its Origin or Sec-Fetch-Site,
// which pages cannot leave out.
func isJSON(r *http.Request) bool {
	if r.ContentLength == 0 {
		return true
	}
	header := r.Header.Values("Content-Type")
	if len(header) == 0 {
		return !isBrowser(r)
	}
	if len(header) > 1 {
		return false
	}
	mediaType, params, err := mime.ParseMediaType(header[0])
	if err != nil {
		return false
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return false
	}
	if mediaType == "application/x-www-form-urlencoded" {
		return !isBrowser(r)
	}
	return mediaType == "application/json" || strings.HasPrefix(mediaType, "application/") && strings.HasSuffix(mediaType, "+json")
}

// isBrowser reports whether a browser sent the request for a page.
func isBrowser(r *http.Request) bool {
	return r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") != "" || r.Header.Get("Sec-Fetch-Mode") != ""
}
