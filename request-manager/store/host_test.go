package store

import (
	"slices"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// Lists of what can be sent have what any host may run, and what the hosts that are
// asked for may: nothing of a host without room hides the rest.
func TestListsOfWhatHostsMayRun(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		create := func(host string) string {
			n := newRequest(newID())
			n.Request.Host = host
			must(t, f.CreateRequests(ctx, []NewRequest{n}))
			f.clock.Add(time.Second)
			return n.Request.ID
		}
		suspend := func(host string) string {
			id := create(host)
			_, err := f.Dispatch(ctx, []Handover{{RequestID: id}}, "jr-1", "http://jr-1")
			must(t, err)
			must(t, f.Suspend(ctx, id, 1, time.Time{}, []byte(`{"requestId":"`+id+`"}`), false, ""))
			return id
		}
		a, any1, b := create("a"), create(""), create("b")
		sjcA, sjcAny, sjcB := suspend("a"), suspend(""), suspend("b")
		for _, tt := range []struct {
			hosts         []string
			pending, sjcs []string
		}{
			{nil, []string{any1}, []string{sjcAny}},
			{[]string{"b"}, []string{any1, b}, []string{sjcAny, sjcB}},
			{[]string{"b", "a", "c"}, []string{a, any1, b}, []string{sjcA, sjcAny, sjcB}},
		} {
			pending, err := f.PendingRequests(ctx, 0, 10, tt.hosts...)
			must(t, err)
			var got []string
			for _, p := range pending {
				got = append(got, p.RequestID)
				if want := map[string]string{a: "a", b: "b"}[p.RequestID]; p.Host != want {
					t.Errorf("%s is for host %q, want %q", p.RequestID, p.Host, want)
				}
			}
			if !slices.Equal(got, tt.pending) {
				t.Errorf("hosts %v: pending %v, want %v", tt.hosts, got, tt.pending)
			}
			found, err := f.UnclaimedSJCs(ctx, time.Hour, 10, tt.hosts...)
			must(t, err)
			got = nil
			for _, u := range found {
				got = append(got, u.RequestID)
				if want := map[string]string{sjcA: "a", sjcB: "b"}[u.RequestID]; u.Host != want {
					t.Errorf("suspended %s is for host %q, want %q", u.RequestID, u.Host, want)
				}
			}
			slices.Sort(got)
			slices.Sort(tt.sjcs)
			if !slices.Equal(got, tt.sjcs) {
				t.Errorf("hosts %v: suspended %v, want %v", tt.hosts, got, tt.sjcs)
			}
		}
		if r := f.wantState(t, a, proto.StatePending, 0); r.Host != "a" {
			t.Errorf("the request is %+v", r)
		}
	})
}
