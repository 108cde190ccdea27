package verb

import (
	"crypto/x509"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/treadle-run/treadle/proto"
)

func TestMessageSaysWhatToDo(t *testing.T) {
	t.Parallel()
	for want, cause := range map[string]error{
		"check the host name":                 &net.DNSError{Err: "no such host", Name: "nobody"},
		"its certificate must be renewed":     x509.CertificateInvalidError{Reason: x509.Expired},
		"try again, or name another":          fmt.Errorf("reading: %w", net.ErrClosed),
		"TREADLE_CLIENT_CA_FILE":              x509.UnknownAuthorityError{},
		"TREADLE_CLIENT_CERT_FILE":            &net.OpError{Op: "remote error", Err: fmt.Errorf("tls: certificate required")},
		"a name that its certificate has":     x509.HostnameError{Certificate: &x509.Certificate{}, Host: "x"},
		"(use of closed network connection):": net.ErrClosed,
	} {
		err := &proto.Error{Code: proto.CodeUnavailable, Message: "cannot reach it", Err: fmt.Errorf("Get: %w", cause)}
		if got := Message(err); !strings.HasPrefix(got, "cannot reach it (") || !strings.Contains(got, want) {
			t.Errorf("%v: %q lacks %q", cause, got, want)
		}
	}
}
