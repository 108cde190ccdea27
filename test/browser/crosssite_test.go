package browser

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/treadle-run/treadle/test/e2e"
)

const danger = `
sequences:
  danger:
    request: true
    nodes:
      a: {category: job, type: shell, args: [{expected: script, value: "true"}]}
`

// attacks are what a page of another site tries. Each is an expression whose promise
// is kept when the browser has had an answer.
var attacks = map[string]string{
	"a POST that needs no preflight": `fetch(RM+"/api/v1/requests", {method: "POST", mode: "no-cors", headers: {"Content-Type": "text/plain"}, body: '{"Type":"danger"}'})`,
	"a POST without a type":          `fetch(RM+"/api/v1/requests", {method: "POST", mode: "no-cors", body: new Blob(['{"Type":"danger"}'])})`,
	"a POST of JSON":                 `fetch(RM+"/api/v1/requests", {method: "POST", headers: {"Content-Type": "application/json"}, body: '{"Type":"danger"}'}).catch(() => 0)`,
	"a beacon":                       `new Promise(ok => { navigator.sendBeacon(RM+"/api/v1/requests", '{"Type":"danger"}'); setTimeout(ok, 500) })`,
	"a form that is JSON":            `new Promise(ok => { const f = document.createElement("form"), i = document.createElement("input"), w = document.createElement("iframe"); w.name = "w"; w.onload = ok; document.body.append(w); f.method = "POST"; f.enctype = "text/plain"; f.target = "w"; f.action = RM+"/api/v1/requests"; i.name = '{"Type":"danger","x":"'; i.value = '"}'; f.append(i); document.body.append(f); f.submit() })`,
	"a runner that registers itself": `fetch(RM+"/api/v1/job-runners", {method: "POST", mode: "no-cors", body: '{"id":"x","url":"http://127.0.0.1:1"}'})`,
	"a chain for the runner":         `fetch(JR+"/api/v1/job-chains", {method: "POST", mode: "no-cors", body: '{}'})`,
	"reading what there is":          `fetch(RM+"/api/v1/requests", {mode: "no-cors"})`,
	"an event stream":                `new Promise(ok => { const s = new EventSource(RM+"/api/v1/requests/c0000000000000000000/events"); s.onerror = s.onopen = () => { s.close(); ok() } })`,
	"a stop by a method of its own":  `fetch(RM+"/api/v1/requests/c0000000000000000000/stop", {method: "PUT"}).catch(() => 0)`,
}

// TestPagesOfOtherSitesReachNothing has a real page try, once as another site and
// once under a name that was made to point at the service.
func TestPagesOfOtherSitesReachNothing(t *testing.T) {
	t.Parallel()
	ctx := open(t)
	e := e2e.NewEnv(t, "SQLite")
	e.Spec("danger", danger)
	e.StartRM()
	jr := e.StartJR()
	evil := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>evil</title><body>")
	}))
	t.Cleanup(evil.Close)

	consts := fmt.Sprintf("const RM = %q, JR = %q;\n", e.URL(), jr.URL())
	home := strings.Replace(evil.URL, "127.0.0.1", "evil.example", 1)
	for name, attack := range attacks {
		before := refusals(t, e.URL(), e) + refusals(t, jr.URL(), e)
		js := "(async () => {" + consts + "await " + attack + "; return true})()"
		err := chromedp.Do(ctx, chromedp.Navigate(home))
		if err == nil {
			_, err = chromedp.Run(ctx, chromedp.Evaluate[any](js, chromedp.EvalAwaitPromise))
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		// A preflight is what the browser asks first where it may not just send.
		e2e.Eventually(t, 10*time.Second, name+": the service refused the browser", func() bool {
			return refusals(t, e.URL(), e)+refusals(t, jr.URL(), e) > before
		})
	}

	rebound := strings.Replace(e.URL(), "127.0.0.1", "rebound.example", 1)
	for _, path := range []string{"/api/v1/requests", "/version", "/"} {
		resp, err := chromedp.Run(ctx, chromedp.NavigateResponse(rebound+path))
		if err != nil {
			t.Fatal(err)
		}
		if resp.Status != http.StatusMisdirectedRequest {
			t.Errorf("%s under a rebound name: %d", path, resp.Status)
		}
	}
	// What the rebound page itself would send has its own origin: the name tells.
	js := `fetch("/api/v1/requests", {method: "POST", headers: {"Content-Type": "application/json"}, body: '{"Type":"danger"}'}).then(r => r.status)`
	status, err := chromedp.Run(ctx, chromedp.Evaluate[int](js, chromedp.EvalAwaitPromise))
	if err != nil || status != http.StatusMisdirectedRequest {
		t.Errorf("POST of a rebound page: %d, %v", status, err)
	}
	if list := e.List(""); len(list) != 0 {
		t.Errorf("requests that pages made: %+v", list)
	}
}

var counter = regexp.MustCompile(`(?m)^treadle_http_requests_total\{.*status="(403|415|421)"\} (\d+)`)

// refusals returns how many calls a service refused at its door.
func refusals(t *testing.T, base string, e *e2e.Env) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", base+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set(e.Operator())
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var text strings.Builder
	if err := resp.Write(&text); err != nil || resp.StatusCode != 200 {
		t.Fatalf("metrics: %d, %v", resp.StatusCode, err)
	}
	n := 0
	for _, m := range counter.FindAllStringSubmatch(strings.ReplaceAll(text.String(), "\r", ""), -1) {
		k, err := strconv.Atoi(m[2])
		if err != nil {
			t.Fatal(err)
		}
		n += k
	}
	return n
}
