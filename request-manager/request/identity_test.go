package request

import (
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// A forged heartbeat must not take the requests of a runner that lives.
func TestARunnerIsRegisteredOnlyIfItAnswersAtItsURL(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		m := w.manager()
		w.run(m)
		w.runner(m, "jr-1", "http://jr:1")
		id := w.create(m, "deploy")
		after(time.Second)
		for name, tc := range map[string]struct {
			id, url string
			want    proto.Code
		}{
			"a new ID at the URL of a live runner": {"forged", "http://jr:1", proto.CodeConflict},
			"the same URL in another spelling":     {"forged", "http://jr:1/", proto.CodeUnavailable},
			"a live runner moves":                  {"jr-1", "http://jr:2", proto.CodeConflict},
			"nobody is there":                      {"forged", "http://jr:3", proto.CodeUnavailable},
			"no URL":                               {"forged", "jr:1", proto.CodeInvalid},
			"another scheme":                       {"forged", "file:///etc/passwd", proto.CodeInvalid},
			"credentials":                          {"forged", "http://u:p@jr:1", proto.CodeInvalid},
			"a query":                              {"forged", "http://jr:1?x=y", proto.CodeInvalid},
			"an empty query":                       {"forged", "http://jr:1?", proto.CodeInvalid},
			"a fragment":                           {"forged", "http://jr:1#x", proto.CodeInvalid},
			"a path":                               {"forged", "http://jr:1/latest/meta-data", proto.CodeInvalid},
			"link-local":                           {"forged", "http://169.254.169.254", proto.CodeInvalid},
			"link-local in IPv6":                   {"forged", "http://[fe80::1]:1", proto.CodeInvalid},
			"link-local as IPv4 in IPv6":           {"forged", "http://[::ffff:169.254.169.254]:1", proto.CodeInvalid},
			"the metadata address of a cloud":      {"forged", "http://100.100.100.200", proto.CodeInvalid},
			"the metadata address of another cloud, in IPv6": {"forged", "http://[fd00:ec2::254]", proto.CodeInvalid},
			"unspecified": {"forged", "http://0.0.0.0:1", proto.CodeInvalid},
		} {
			_, err := m.Heartbeat(w.t.Context(), proto.Runner{ID: tc.id, URL: tc.url, Host: "h", PID: 1})
			if got := proto.ErrorCode(err); err == nil || got != tc.want {
				w.t.Errorf("%s: %v (%s), want %s", name, err, got, tc.want)
			}
		}
		after(time.Minute)
		w.want(id, proto.StateRunning)
		w.wantSent(id, "start at http://jr:1 epoch 1")
		runners, err := m.Runners(w.t.Context())
		must(w.t, err)
		if len(runners) != 1 || runners[0].ID != "jr-1" {
			w.t.Errorf("runners: %+v", runners)
		}
	})
}

// A manager that is new, or that cannot reach a runner for a while, believes the
// registry: the heartbeats of a registered runner keep its lease.
func TestARegisteredRunnerIsNotAskedAgain(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		first := w.manager()
		stop := w.run(first)
		r := w.runner(first, "jr-1", "http://jr:1")
		stop()
		second := w.manager(func(c *Config) { c.ManagerID = "rm-2" })
		w.run(second)
		w.mu.Lock()
		delete(w.fakes, "http://jr:1") // it does not answer
		w.mu.Unlock()
		if _, err := second.Heartbeat(w.t.Context(), r.self); err != nil {
			w.t.Error(err)
		}
	})
}

func TestNamesOfRunnersMustNotLeadElsewhere(t *testing.T) {
	t.Parallel()
	for address, ok := range map[string]bool{
		"127.0.0.1:80": true, "10.1.2.3:80": true, "[::1]:80": true, "[2001:db8::1]:80": true,
		"169.254.169.254:80": false, "[fe80::1%eth0]:80": false, "[::ffff:169.254.1.1]:80": false,
		"0.0.0.0:80": false, "224.0.0.1:80": false, "nonsense": false,
	} {
		if err := CheckRunnerAddress(address); (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
	}
}
