package store

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

func TestCreatedRequestComesBackAsItWas(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		id := newID()
		n := newRequest(id)
		n.Request.Args = []proto.RequestArg{
			{Pos: 0, Name: "host", Desc: "which one, “quoted”", Type: proto.ArgRequired, Given: true, Value: "db-1\n%_'\\"},
			{Pos: 1, Name: "n", Type: proto.ArgOptional, Default: int64(3), Value: int64(1) << 60, ValueType: "int"},
			{Pos: 2, Name: "ratio", Type: proto.ArgOptional, Default: 3.0, Value: 0.1, Enum: []any{0.1, 3.0}},
			{Pos: 3, Name: "list", Type: proto.ArgStatic, Value: []any{"a", int64(1), nil, true, map[string]any{"k": 2.0}}},
			{Pos: 4, Name: "token", Type: proto.ArgOptional, Value: proto.SecretMask, Secret: true},
		}
		reqs := []NewRequest{n}
		must(t, f.CreateRequests(t.Context(), reqs))
		want := proto.Request{
			ID: id, Type: "deploy", User: "ann", State: proto.StatePending, TotalJobs: 3,
			CreatedAt: f.clock.Now(), Args: n.Request.Args,
		}
		if d := cmp.Diff(want, f.request(t, id)); d != "" {
			t.Errorf("stored request (-want +got):\n%s", d)
		}
		if d := cmp.Diff(want, reqs[0].Request); d != "" {
			t.Errorf("request in the batch (-want +got):\n%s", d)
		}
		want.Args = nil
		all, err := f.Requests(t.Context(), []string{id, newID()})
		must(t, err)
		if d := cmp.Diff(map[string]proto.Request{id: want}, all); d != "" {
			t.Errorf("requests by id (-want +got):\n%s", d)
		}
		chain, err := f.Chain(t.Context(), id)
		must(t, err)
		if string(chain) != string(n.Chain) {
			t.Errorf("chain %s, want %s", chain, n.Chain)
		}
	})
}

func TestCreateRequestsIsAllOrNothing(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		taken := f.create(t)
		other := newID()
		if err := f.CreateRequests(t.Context(), []NewRequest{newRequest(other), newRequest(taken)}); err == nil {
			t.Fatal("an id was used twice")
		}
		for _, table := range []string{"requests", "request_archives"} {
			if n := f.count(t, table); n != 1 {
				t.Errorf("%d rows in %s, want 1", n, table)
			}
		}
	})
}

func TestCreateRequestsInLargeBatches(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		var reqs []NewRequest
		for range database.ChunkRows + 10 {
			n := newRequest(newID())
			n.ArgValues = proto.Values{"a": "1", "b": int64(2)}
			reqs = append(reqs, n)
		}
		reqs[3].Chain = []byte(`"` + strings.Repeat("x", 3*database.ChunkBytes) + `"`)
		must(t, f.CreateRequests(t.Context(), reqs))
		if n := f.count(t, "requests"); n != len(reqs) {
			t.Errorf("%d requests, want %d", n, len(reqs))
		}
		if n := f.count(t, "request_args"); n != 2*len(reqs) {
			t.Errorf("%d args, want %d", n, 2*len(reqs))
		}
		chain, err := f.Chain(t.Context(), reqs[3].Request.ID)
		must(t, err)
		if len(chain) != len(reqs[3].Chain) {
			t.Errorf("chain of %d bytes, want %d", len(chain), len(reqs[3].Chain))
		}
	})
}

func TestNamesThatAreTooLongAreRefused(t *testing.T) {
	tests := map[string]func(*NewRequest){
		"type: the name has 76 bytes: at most 75":   func(n *NewRequest) { n.Request.Type = strings.Repeat("t", 76) },
		"user: the name has 102 bytes: at most 100": func(n *NewRequest) { n.Request.User = strings.Repeat("ü", 51) },
		"user: the name must not end in a space":    func(n *NewRequest) { n.Request.User = "ann " },
		"user: the name is not UTF-8":               func(n *NewRequest) { n.Request.User = "\xff" },
		"arg " + strings.Repeat("n", 101) + ": the name has 101 bytes: at most 100": func(n *NewRequest) {
			n.ArgValues = proto.Values{strings.Repeat("n", 101): 1}
		},
	}
	each(t, func(t *testing.T, f *fixture) {
		for want, change := range tests {
			n := newRequest(newID())
			change(&n)
			err := f.CreateRequests(t.Context(), []NewRequest{n})
			if proto.ErrorCode(err) != proto.CodeInvalid || err.Error() != want {
				t.Errorf("error %v, want %s", err, want)
			}
		}
		if n := f.count(t, "requests"); n != 0 {
			t.Errorf("%d requests stored", n)
		}
	})
}

func TestIdempotencyKeys(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		with := func(user, key string) NewRequest {
			n := newRequest(newID())
			n.Request.User, n.IdempotencyKey, n.BodyHash = user, key, []byte(key+" body")
			return n
		}
		first := with("ann", "k1")
		must(t, f.CreateRequests(t.Context(), []NewRequest{first, with("bob", "k1"), with("ann", "k2"), newRequest(newID())}))

		for name, batch := range map[string][]NewRequest{
			"used before":        {with("ann", "k3"), with("ann", "k1")},
			"twice in the batch": {with("ann", "k4"), with("ann", "k4")},
		} {
			err := f.CreateRequests(t.Context(), batch)
			if taken, ok := errors.AsType[*KeyTakenError](err); !ok || taken.Index != 1 {
				t.Errorf("%s: error %v, want that key 1 is taken", name, err)
			}
		}
		if n := f.count(t, "requests"); n != 4 {
			t.Errorf("%d requests, want 4", n)
		}
		id, hash, err := f.RequestByKey(t.Context(), "ann", "k1")
		must(t, err)
		if id != first.Request.ID || string(hash) != "k1 body" {
			t.Errorf("key is of %s with body hash %q", id, hash)
		}
		if _, _, err := f.RequestByKey(t.Context(), "ann", "k3"); !errors.Is(err, ErrNotFound) {
			t.Errorf("error %v, want ErrNotFound: its batch was not stored", err)
		}

		f.clock.Add(time.Hour)
		must(t, f.CreateRequests(t.Context(), []NewRequest{with("ann", "k5")}))
		n, err := f.PurgeKeys(t.Context(), 30*time.Minute)
		must(t, err)
		if n != 3 {
			t.Errorf("purged %d keys, want 3", n)
		}
		if _, _, err := f.RequestByKey(t.Context(), "ann", "k5"); err != nil {
			t.Errorf("the young key is gone: %v", err)
		}
	})
}

func TestUnknownIDs(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.create(t)
		for _, id := range []string{newID(), "", "x", "../../x", strings.Repeat("x", 1000), "ü", "%"} {
			_, e1 := f.Request(t.Context(), id)
			_, e2 := f.Chain(t.Context(), id)
			_, e3 := f.Stop(t.Context(), id)
			_, e4 := f.LastJobLog(t.Context(), id, "a")
			for i, err := range []error{e1, e2, e3, e4} {
				if !errors.Is(err, ErrNotFound) {
					t.Errorf("call %d with id %q: error %v, want ErrNotFound", i, id, err)
				}
			}
		}
	})
}
