package cmd

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// tlsFake is a fake Request Manager with a certificate of a CA that nobody knows; the
// file has that CA.
func tlsFake(t *testing.T, auth tls.ClientAuthType) (f *fake, caFile string) {
	t.Helper()
	f = &fake{request: requestJSON(2, 1, "")}
	f.Server = httptest.NewUnstartedServer(f)
	f.Config.ErrorLog = log.New(io.Discard, "", 0)
	f.TLS = &tls.Config{ClientAuth: auth}
	f.StartTLS()
	t.Cleanup(f.Close)
	caFile = filepath.Join(t.TempDir(), "ca.pem")
	writeFile(t, caFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.Certificate().Raw})))
	return f, caFile
}

// Each error says what is to be done about it, and about no other.
func TestWhatToDoIfTheRequestManagerCannotBeReached(t *testing.T) {
	t.Parallel()
	plain := newFake(t)
	secure, ca := tlsFake(t, tls.NoClientCert)
	mutual, mutualCA := tlsFake(t, tls.RequireAnyClientCert)
	otherName := strings.Replace(secure.URL, "127.0.0.1", "localhost", 1)
	for name, tt := range map[string]struct {
		addr, ca string
		code     int
		want     string
	}{
		"nobody listens":     {"http://127.0.0.1:1", "", 3, "start one with treadle dev, or name another with --addr"},
		"unknown CA":         {secure.URL, "", 3, "name the CA of its certificate with TREADLE_CLIENT_CA_FILE"},
		"known CA":           {secure.URL, ca, 0, ""},
		"another name":       {otherName, ca, 3, "name it with --addr by a name that its certificate has"},
		"client certificate": {mutual.URL, mutualCA, 3, "name one with TREADLE_CLIENT_CERT_FILE and TREADLE_CLIENT_KEY_FILE"},
		"https for http":     {strings.Replace(plain.URL, "http:", "https:", 1), "", 3, "use http:// in --addr or $TREADLE_ADDR"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := plain.treadleWith(t.Context(), map[string]string{"TREADLE_CLIENT_CA_FILE": tt.ca}, "", "stop", id, "--addr", tt.addr)
			if r.code != tt.code {
				t.Errorf("exit code %d, want %d", r.code, tt.code)
			}
			has(t, "stderr", r.stderr, tt.want)
			if dev := strings.Contains(r.stderr, "treadle dev"); dev != (name == "nobody listens") {
				t.Errorf("the advice is wrong: %s", r.stderr)
			}
		})
	}
}

// A start without an answer can be repeated: the key is said.
func TestStartWithoutAnAnswerSaysHowToRepeatIt(t *testing.T) {
	t.Parallel()
	f := &fake{}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/v1/requests", func(w http.ResponseWriter, r *http.Request) {
		f.keys = append(f.keys, r.Header.Get("Idempotency-Key"))
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, `{"message": "the database does not answer", "requestId": "", "httpStatus": 503}`)
	})
	mux.HandleFunc("GET /api/v1/request-list", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, specList) })
	f.Server = httptest.NewServer(mux)
	t.Cleanup(f.Close)
	r := f.treadle(t, "start", "hello")
	if r.code != 3 || len(f.keys) == 0 || f.keys[0] == "" {
		t.Fatalf("exit code %d, keys %q: %s", r.code, f.keys, r.stderr)
	}
	has(t, "stderr", r.stderr, "the database does not answer", "run the same command with --key "+f.keys[0])
}
