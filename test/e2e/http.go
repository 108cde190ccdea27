package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/treadle-run/treadle/config"
)

// httpClient has a connection limit of its own and gives up on a service that
// does not answer.
var httpClient = &http.Client{Timeout: time.Minute}

// Answer is what a service answered.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
}

// Into decodes the body.
func (a Answer) Into(v any) error {
	if err := json.Unmarshal(a.Body, v); err != nil {
		return fmt.Errorf("%w in %s", err, a.Body)
	}
	return nil
}

// Do sends a request to the first Request Manager. Body is sent as it is if it is
// text or bytes, else as JSON. Header has pairs.
func (e *Env) Do(method, path string, body any, header ...string) Answer {
	e.t.Helper()
	a, err := do(method, e.URL()+path, body, header...)
	if err != nil {
		e.t.Fatal(err)
	}
	return a
}

// Operator returns the header that proves that a call comes from a service or an
// operator of the installation, for Do.
func (e *Env) Operator() (name, value string) {
	e.t.Helper()
	secret, err := config.Cluster{}.LoadExisting()
	if err != nil || secret == "" {
		e.t.Fatalf("no cluster secret: %v", err)
	}
	return "Authorization", "Treadle " + string(secret)
}

func do(method, url string, body any, header ...string) (Answer, error) {
	var b []byte
	switch body := body.(type) {
	case nil:
	case []byte:
		b = body
	case string:
		b = []byte(body)
	default:
		var err error
		if b, err = json.Marshal(body); err != nil {
			return Answer{}, err
		}
	}
	req, err := http.NewRequest(method, url, bytes.NewReader(b))
	if err != nil {
		return Answer{}, err
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := httpClient.Do(req)
	if err != nil {
		return Answer{}, err
	}
	defer resp.Body.Close()
	out, err := io.ReadAll(resp.Body)
	if err != nil {
		return Answer{}, err
	}
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: out}, nil
}

// Get asks for a path and decodes the answer, which must be a 200.
func (e *Env) Get(path string, into any) {
	e.t.Helper()
	a := e.Do(http.MethodGet, path, nil)
	if a.Status != http.StatusOK {
		e.t.Fatalf("GET %s: %d %s", path, a.Status, a.Body)
	}
	if err := a.Into(into); err != nil {
		e.t.Fatalf("GET %s: %v", path, err)
	}
}
