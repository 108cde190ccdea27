// Package httpclient is what the clients of the Request Manager and the Job
// Runner have in common: one call with a bounded answer, errors as *proto.Error,
// retries where a call may be repeated, and server-sent events.
//
// Only `*/client` packages import it; it imports proto.
package httpclient

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-resty/resty/v2"

	"github.com/treadle-run/treadle/proto"
)

// answerLimit is the limit of an answer, in bytes.
const answerLimit = 512 << 20

// idleConns is how many connections to one host are kept for the next call: a
// runner and a manager talk all the time, and opening anew costs more than the
// call.
const idleConns = 64

// Config says how to call.
type Config struct {
	// Service names what is called in errors, such as "request manager".
	Service string
	// Secret of the cluster, sent if it is not "".
	Secret string
	// User is the name of the caller, sent in UserHeader if it is not "".
	User string
	// UserHeader is where User goes.
	UserHeader string
	// TLS is for https URLs; nil has the defaults of crypto/tls.
	TLS *tls.Config
	// Allow, if not nil, is asked with each address, after names were resolved, before it
	// is connected to; its error ends the call.
	Allow func(address string) error
	// Timeout bounds each try of a call (default 30 s).
	Timeout time.Duration
}

// Client makes calls. It is safe for concurrent use.
type Client struct {
	cfg     Config
	resty   *resty.Client
	silence time.Duration // after which a stream of events is taken for dead
}

// New returns a client.
func New(cfg Config) *Client {
	if cfg.Timeout == 0 {
		cfg.Timeout = 30 * time.Second
	}
	dialer := &net.Dialer{Timeout: 5 * time.Second, KeepAlive: 15 * time.Second}
	if cfg.Allow != nil {
		dialer.Control = func(_, address string, _ syscall.RawConn) error { return cfg.Allow(address) }
	}
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSClientConfig:       cfg.TLS,
		TLSHandshakeTimeout:   10 * time.Second,
		MaxIdleConnsPerHost:   idleConns,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
		DisableCompression:    true, // costs more than it saves between neighbours
	}
	r := resty.NewWithClient(&http.Client{
		Transport: transport,
		// A redirect is answered as an error: following it would turn a POST into a GET.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	})
	r.SetResponseBodyLimit(answerLimit).SetDisableWarn(true).SetLogger(silent{})
	if cfg.Secret != "" {
		r.SetHeader("Authorization", "Treadle "+cfg.Secret)
	}
	if cfg.User != "" {
		r.SetHeader(cfg.UserHeader, cfg.User)
	}
	return &Client{cfg: cfg, resty: r, silence: maxSilence}
}

// Close closes connections that no call uses.
func (c *Client) Close() {
	c.resty.GetClient().CloseIdleConnections()
}

// Call is one call.
type Call struct {
	Method string
	Base   string // URL of the service, such as "http://127.0.0.1:32308"
	Path   string // with its parts escaped
	Query  url.Values
	Header map[string]string
	// Body is sent as it is if it is a []byte, else as JSON; nil sends none.
	Body any
	// Out, if not nil, is where the JSON of a success goes.
	Out any
	// Repeat says that the call may be made again when it is not known whether it
	// arrived.
	Repeat bool
}

// Do makes the call. Every error but those of an ended ctx is a *proto.Error:
// that of the service, or CodeUnavailable if no answer came.
func (c *Client) Do(ctx context.Context, call Call) error {
	body, err := encode(call.Body)
	if err != nil {
		return err
	}
	if !call.Repeat {
		return c.once(ctx, call, body)
	}
	return retry(ctx, func() error { return c.once(ctx, call, body) })
}

func encode(body any) ([]byte, error) {
	switch b := body.(type) {
	case nil:
		return nil, nil
	case []byte:
		return b, nil
	}
	b, err := json.Marshal(body)
	if err != nil {
		return nil, &proto.Error{Code: proto.CodeInvalid, Message: "cannot write the call as JSON", Err: err}
	}
	return b, nil
}

// once makes one try of the call.
func (c *Client) once(ctx context.Context, call Call, body []byte) error {
	tryCtx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	resp, err := c.request(tryCtx, call, body).Execute(call.Method, target(call))
	if err != nil {
		return c.noAnswer(ctx, call.Base, err)
	}
	if !resp.IsSuccess() {
		return c.refused(call.Base, resp.StatusCode(), resp.Header(), resp.Body())
	}
	if call.Out == nil {
		return nil
	}
	if err := json.Unmarshal(resp.Body(), call.Out); err != nil {
		return &proto.Error{Code: proto.CodeInternal, Message: "the " + c.cfg.Service + " at " + call.Base + " gave an answer that is not understood", Err: err}
	}
	return nil
}

func (c *Client) request(ctx context.Context, call Call, body []byte) *resty.Request {
	r := c.resty.R().SetContext(ctx).SetHeaders(call.Header)
	if body != nil {
		// A Reader is sent as it is, where a []byte would be copied first.
		r.SetHeader("Content-Type", "application/json").SetBody(io.Reader(bytes.NewReader(body)))
	}
	return r
}

// target returns the URL of the call.
func target(call Call) string {
	u := strings.TrimRight(call.Base, "/") + call.Path
	if len(call.Query) > 0 {
		u += "?" + call.Query.Encode()
	}
	return u
}

// EpochHeader returns the header of a call that is about a chain under an epoch.
func EpochHeader(epoch uint64) map[string]string {
	return map[string]string{proto.EpochHeader: strconv.FormatUint(epoch, 10)}
}

// silent is a resty.Logger that writes nothing: errors are returned.
type silent struct{}

func (silent) Errorf(string, ...any) {}
func (silent) Warnf(string, ...any)  {}
func (silent) Debugf(string, ...any) {}
