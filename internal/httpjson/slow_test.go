package httpjson_test

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/labstack/echo/v4"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/treadle-run/treadle/internal/httpjson"
	"github.com/treadle-run/treadle/internal/httpserve"
)

// slowServer is a real HTTP server with one route that reads a body of up to 1 MiB,
// and one that reads none. reading counts the calls that have come.
func slowServer(t *testing.T, pace httpserve.Pace) (addr string, reading *atomic.Int64) {
	t.Helper()
	reading = new(atomic.Int64)
	routes := []httpjson.Route{
		{Method: "POST", Path: "/read", Handle: func(c echo.Context) error {
			reading.Add(1)
			var body struct{ A string }
			if err := httpjson.Decode(c, &body, 1<<20); err != nil {
				return err
			}
			return httpjson.JSON(c, 200, len(body.A))
		}},
		{Method: "POST", Path: "/ignore", Handle: httpjson.Healthz},
	}
	log := slog.New(slog.DiscardHandler)
	metrics := httpjson.NewMetrics(prometheus.NewRegistry(), "test")
	s := httptest.NewServer(pace.Handler(httpjson.New(routes, httpjson.Guard{}, metrics, log)))
	t.Cleanup(s.Close)
	return s.Listener.Addr().String(), reading
}

// post opens a connection and sends the head of a call with a body of that size, and
// the start of the body.
func post(t *testing.T, addr, path string, size int, start string) net.Conn {
	t.Helper()
	conn, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, size, start); err != nil {
		t.Fatal(err)
	}
	return conn
}

// status reads an answer; 0 is a connection that ended without one.
func status(conn net.Conn) int {
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	return resp.StatusCode
}

// Many callers that declare a body and do not send it hold little memory, and not for
// long.
func TestBodiesThatDoNotCome(t *testing.T) {
	const callers = 300
	addr, reading := slowServer(t, httpserve.Pace{Grace: time.Hour, Rate: 1 << 20, Silence: 3 * time.Second})
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	var conns []net.Conn
	for range callers {
		conns = append(conns, post(t, addr, "/read", 900<<10, `{"A": "0123`))
	}
	deadline := time.Now().Add(10 * time.Second)
	for reading.Load() < callers && time.Now().Before(deadline) {
		runtime.Gosched()
	}
	if n := reading.Load(); n != callers {
		t.Fatalf("%d of %d calls came", n, callers)
	}
	if used := (heap() - min(before, heap())) / callers; used > 64<<10 {
		t.Errorf("each of them holds %d bytes", used)
	}
	var refused sync.WaitGroup
	for _, conn := range conns {
		refused.Go(func() {
			if got := status(conn); got != http.StatusRequestTimeout {
				t.Errorf("the answer is %d", got)
			}
			if _, err := conn.Read(make([]byte, 1)); err == nil {
				t.Error("the connection stays")
			}
		})
	}
	refused.Wait()
}

// What comes too slowly on the whole is refused although it never stops; what comes
// slowly, at the rate, is taken.
func TestBodiesThatComeSlowly(t *testing.T) {
	t.Parallel()
	body := `{"A": "` + strings.Repeat("x", 40) + `"}`
	for _, c := range []struct {
		name string
		pace httpserve.Pace
		want int
	}{
		{"below the rate", httpserve.Pace{Grace: 200 * time.Millisecond, Rate: 1 << 20, Silence: time.Minute}, http.StatusRequestTimeout},
		{"at the rate", httpserve.Pace{Grace: time.Second, Rate: 1, Silence: time.Minute}, http.StatusOK},
		{"within the grace", httpserve.Pace{Grace: time.Minute, Rate: 1 << 20, Silence: time.Minute}, http.StatusOK},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			addr, _ := slowServer(t, c.pace)
			conn := post(t, addr, "/read", len(body), "")
			go func() {
				tick := time.NewTicker(10 * time.Millisecond)
				defer tick.Stop()
				for i := range len(body) {
					if _, err := io.WriteString(conn, body[i:i+1]); err != nil {
						return
					}
					<-tick.C
				}
			}()
			if got := status(conn); got != c.want {
				t.Errorf("the answer is %d, want %d", got, c.want)
			}
		})
	}
}

// A connection does not stay for a body that no handler reads, nor for one of a call
// that was refused before its handler.
func TestBodiesThatNobodyReads(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]int{"/ignore": 200, "/nowhere": 404} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			addr, _ := slowServer(t, httpserve.Pace{Grace: 200 * time.Millisecond, Rate: 1 << 20, Silence: 100 * time.Millisecond})
			conn := post(t, addr, path, 200<<10, "{")
			if got := status(conn); got != want {
				t.Errorf("the answer is %d, want %d", got, want)
			}
			if _, err := conn.Read(make([]byte, 1)); err == nil || strings.Contains(err.Error(), "timeout") {
				t.Errorf("the connection stays: %v", err)
			}
		})
	}
}

// The time that a body may take does not end the work that it asks for.
func TestTheDeadlineOfABodyIsNotThatOfTheCall(t *testing.T) {
	t.Parallel()
	pace := httpserve.Pace{Grace: 50 * time.Millisecond, Rate: 1 << 20, Silence: 50 * time.Millisecond}
	s := httptest.NewServer(pace.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		done := time.NewTimer(300 * time.Millisecond)
		defer done.Stop()
		select {
		case <-done.C:
		case <-r.Context().Done():
			w.WriteHeader(http.StatusTeapot)
		}
	})))
	defer s.Close()
	conn := post(t, s.Listener.Addr().String(), "/", 2, "{}")
	if got := status(conn); got != http.StatusOK {
		t.Errorf("the answer is %d", got)
	}
}
