package e2e_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/e2e"
)

// TestStrangersOnLoopback: whoever can connect to the services of another user, and
// knows no secret, cannot act as a service.
func TestStrangersOnLoopback(t *testing.T) {
	t.Parallel()
	e := e2e.NewEnv(t, "SQLite")
	e.Spec("hello", "sequences:\n  hello:\n    request: true\n    nodes:\n      a: {category: job, type: noop}\n")
	e.StartRM()
	jr := e.StartJR()
	id := e.Submit("hello", nil)
	e.WaitState(id, proto.StateComplete, time.Minute)

	const chain = `{"requestId":"c0000000000000000000","jobs":{"a":{"id":"a","type":"shell","args":{"script":"true"}}},"adjacencyList":{}}`
	runner := "http://" + jr.Addr
	for _, call := range []struct{ method, url, body string }{
		{"POST", e.URL() + "/api/v1/job-runners", `{"id":"x","url":"http://127.0.0.1:1"}`},
		{"POST", e.URL() + "/api/v1/reports", `{"runnerId":"x","items":[{"requestId":"` + id + `","epoch":1,"final":4}]}`},
		{"PUT", e.URL() + "/api/v1/requests/" + id + "/finish", `{"requestId":"` + id + `","state":4}`},
		{"PUT", e.URL() + "/api/v1/job-runners/x/drain?on=true", ""},
		{"PUT", e.URL() + "/api/v1/schedule/shards", `{"shards":7}`},
		{"GET", e.URL() + "/metrics", ""},
		{"POST", runner + "/api/v1/job-chains", chain},
		{"POST", runner + "/api/v1/job-chains/resume", `{}`},
		{"PUT", runner + "/api/v1/job-chains/" + id + "/stop", ""},
		{"GET", runner + "/api/v1/status/running", ""},
		{"GET", runner + "/metrics", ""},
	} {
		for _, secret := range []string{"", "Treadle ", "Treadle wrong-wrong-wrong-wrong", "Bearer x"} {
			r, err := http.NewRequestWithContext(t.Context(), call.method, call.url, strings.NewReader(call.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			if secret != "" {
				r.Header.Set("Authorization", secret)
			}
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if resp.StatusCode != http.StatusUnauthorized {
				t.Errorf("%s %s with Authorization %q: %d", call.method, call.url, secret, resp.StatusCode)
			}
		}
	}
}
