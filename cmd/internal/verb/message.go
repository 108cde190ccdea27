package verb

import (
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"syscall"

	"github.com/treadle-run/treadle/proto"
)

// Message is what a user reads about err. Of a proto.Error it is the message for users,
// and, if the Request Manager did not answer, why and what to do.
func Message(err error) string {
	e, ok := errors.AsType[*proto.Error](err)
	if !ok {
		return err.Error()
	}
	if e.Code == proto.CodeUnavailable && e.Err != nil {
		return e.Message + " (" + reason(e.Err) + "): " + advice(e.Err)
	}
	return e.Message
}

// advice says what to do about a Request Manager that did not answer.
func advice(err error) string {
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return "name the CA of its certificate with TREADLE_CLIENT_CA_FILE"
	}
	if _, ok := errors.AsType[x509.HostnameError](err); ok {
		return "name it with --addr by a name that its certificate has"
	}
	if _, ok := errors.AsType[x509.CertificateInvalidError](err); ok {
		return "its certificate must be renewed"
	}
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "remote error" { // of TLS
		return "it demands a certificate of the client; name one with TREADLE_CLIENT_CERT_FILE and TREADLE_CLIENT_KEY_FILE"
	}
	if _, ok := errors.AsType[*net.DNSError](err); ok {
		return "check the host name in --addr or $TREADLE_ADDR"
	}
	switch {
	case errors.Is(err, http.ErrSchemeMismatch):
		return "it does not speak TLS at that port; use http:// in --addr or $TREADLE_ADDR"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "start one with treadle dev, or name another with --addr"
	}
	return "try again, or name another with --addr"
}

// reason is the innermost cause: the outer ones repeat the address.
func reason(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
