package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/treadle-run/treadle/internal/httpjson"
	"github.com/treadle-run/treadle/proto"
)

// Requests is what users do with requests.
type Requests interface {
	// Create makes a request for the user. Two calls with one key, unless it is "",
	// and one body give the same request.
	Create(ctx context.Context, r proto.CreateRequest, user, key string) (proto.Request, error)
	Start(ctx context.Context, id string) error
	Stop(ctx context.Context, id string) error
	// Specs are the requests that users can ask for.
	Specs() []proto.RequestSpec
}

// Reader reads requests.
type Reader interface {
	Get(ctx context.Context, id string) (proto.Request, error)
	GetWithJC(ctx context.Context, id string) (proto.Request, error)
	JobChain(ctx context.Context, id string) (*proto.JobChain, error)
	Find(ctx context.Context, f proto.RequestFilter) ([]proto.Request, error)
}

// keyHeader makes creating a request idempotent.
const keyHeader = "Idempotency-Key"

// maxJobID is the limit of the id of a job, in bytes.
const maxJobID = 32

// createBody is proto.CreateRequest with the args as they were sent, to hold them
// to their own limit and to name them in errors.
type createBody struct {
	Type string          `json:"Type"`
	Args json.RawMessage `json:"Args"`
	User string          `json:"User"`
	Host string          `json:"host"`
}

func (s *server) createRequest(c echo.Context) error {
	key, err := idempotencyKey(c)
	if err != nil {
		return err
	}
	var body createBody
	if err := httpjson.DecodeExact(c, &body, s.cfg.BodyLimit); err != nil {
		return err
	}
	create := proto.CreateRequest{Type: body.Type, Host: body.Host}
	if int64(len(body.Args)) > s.cfg.ArgsLimit {
		return proto.Errorf(proto.CodeTooLarge, "Args: larger than %s", httpjson.Size(s.cfg.ArgsLimit))
	}
	if len(body.Args) > 0 {
		if err := create.Args.UnmarshalJSON(body.Args); err != nil {
			return proto.Errorf(proto.CodeInvalid, "Args: %s", err)
		}
	}
	req, err := s.requests.Create(c.Request().Context(), create, caller(c), key)
	if err != nil {
		return err
	}
	req.JobChain = nil
	c.Response().Header().Set(echo.HeaderLocation, "/api/v1/requests/"+req.ID)
	return httpjson.JSON(c, http.StatusCreated, req)
}

// idempotencyKey returns the key of the call, "" if it has none.
func idempotencyKey(c echo.Context) (string, error) {
	keys := c.Request().Header.Values(keyHeader)
	if len(keys) == 0 {
		return "", nil
	}
	key := keys[0]
	if len(keys) > 1 || key == "" || len(key) > proto.MaxIdempotencyKey || !printableASCII(key) {
		return "", proto.Errorf(proto.CodeInvalid, "header %s: expected one key of 1 to %d printable ASCII characters", keyHeader, proto.MaxIdempotencyKey)
	}
	return key, nil
}

func printableASCII(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}

func (s *server) findRequests(c echo.Context) error {
	filter, err := parseFilter(c.Request().URL.RawQuery)
	if err != nil {
		return err
	}
	found, err := s.reader.Find(c.Request().Context(), filter)
	if err != nil {
		return err
	}
	list := make([]proto.Request, len(found))
	for i, r := range found {
		r.Args, r.JobChain = nil, nil
		list[i] = r
	}
	return httpjson.JSON(c, http.StatusOK, list)
}

func (s *server) getRequest(c echo.Context) error {
	id, err := httpjson.RequestID(c)
	if err != nil {
		return err
	}
	req, err := s.reader.GetWithJC(c.Request().Context(), id)
	if err != nil {
		return err
	}
	req.JobChain = forUser(req.JobChain)
	return httpjson.JSON(c, http.StatusOK, req)
}

func (s *server) getJobChain(c echo.Context) error {
	id, err := httpjson.RequestID(c)
	if err != nil {
		return err
	}
	jc, err := s.reader.JobChain(c.Request().Context(), id)
	if err != nil {
		return err
	}
	return httpjson.JSON(c, http.StatusOK, forUser(jc))
}

// forUser returns the chain as users may see it: without the list of its secrets,
// and with objects where Go has nil maps.
func forUser(jc *proto.JobChain) *proto.JobChain {
	if jc == nil {
		return nil
	}
	out := *jc
	out.Secrets = nil
	if out.Jobs == nil {
		out.Jobs = map[string]*proto.Job{}
	}
	if out.AdjacencyList == nil {
		out.AdjacencyList = map[string][]string{}
	}
	return &out
}

func (s *server) startRequest(c echo.Context) error {
	id, err := httpjson.RequestID(c)
	if err != nil {
		return err
	}
	if err := s.requests.Start(c.Request().Context(), id); err != nil {
		return err
	}
	return httpjson.Empty(c)
}

func (s *server) stopRequest(c echo.Context) error {
	id, err := httpjson.RequestID(c)
	if err != nil {
		return err
	}
	if err := s.requests.Stop(c.Request().Context(), id); err != nil {
		return err
	}
	return httpjson.Empty(c)
}

func (s *server) listSpecs(c echo.Context) error {
	specs := s.requests.Specs()
	list := make([]proto.RequestSpec, len(specs))
	for i, spec := range specs {
		list[i] = proto.RequestSpec{Name: spec.Name, Args: forPrompt(spec.Args)}
	}
	return httpjson.JSON(c, http.StatusOK, list)
}

// forPrompt returns the args that a caller may give, with defaults as text: v1 clients
// ask for every arg of the list, and know no other defaults.
func forPrompt(args []proto.RequestArg) []proto.RequestArg {
	out := []proto.RequestArg{}
	for _, a := range args {
		if a.Type == proto.ArgStatic {
			continue
		}
		if a.Default != nil {
			a.Default = proto.Text(a.Default)
		}
		out = append(out, a)
	}
	return out
}

// oddIDs answers for ids that have slashes in them, such as ../../x: no route is
// theirs, but they are ids that no request has.
func oddIDs(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		err := next(c)
		if !errors.Is(err, echo.ErrNotFound) {
			return err
		}
		below, ok := strings.CutPrefix(c.Request().URL.Path, "/api/v1/requests/")
		id, _, _ := strings.Cut(below, "/")
		if ok && !httpjson.ValidRequestID(id) {
			return httpjson.ErrNoRequest
		}
		return err
	}
}
