package request

import (
	"context"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"sync"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// identities makes sure that a runner is who it says it is, before it is registered:
// that another process is at the address of a runner proves that the runner is dead,
// and must not be believed because somebody says so.
type identities struct {
	store *store.Store
	log   *slog.Logger
	// ask returns the ID of the runner at a URL.
	ask func(ctx context.Context, url string) (id string, err error)

	mu        sync.Mutex
	confirmed map[string]string // URL by ID
	refused   map[string]string // ID that answered when one was refused last, by URL; for the log
}

// maxConfirmed bounds what is remembered: each process of a runner has an ID of its
// own, and what is forgotten is read or asked again.
const maxConfirmed = 10_000

// confirm returns nil if the runner is registered under its URL, or answers there. The
// error is CodeInvalid for a URL that no runner can have, CodeConflict if another
// runner is there, CodeUnavailable if none answers.
func (x *identities) confirm(ctx context.Context, r proto.Runner) error {
	if x.isConfirmed(r) {
		return nil
	}
	if err := checkRunnerURL(r.URL); err != nil {
		return err
	}
	// A registered one is not asked: its heartbeats count also while it cannot be
	// reached from here.
	runners, err := x.store.Runners(ctx)
	if err != nil {
		return storeError(err, "")
	}
	for _, known := range runners {
		if known.ID == r.ID && known.URL == r.URL {
			x.remember(r)
			return nil
		}
		if known.ID == r.ID {
			return proto.Errorf(proto.CodeConflict, "job runner %s is registered at %s: it cannot move to %s", r.ID, known.URL, r.URL)
		}
	}
	id, err := x.ask(ctx, r.URL)
	if err != nil {
		return &proto.Error{Code: proto.CodeUnavailable, Err: err,
			Message: "no job runner answers at " + r.URL + ": server.url must be the address at which Request Managers reach it"}
	}
	if id != r.ID {
		x.logOnce(r, id)
		return proto.Errorf(proto.CodeConflict, "the job runner at %s is %s, not %s: server.url of each must be an address of its own", r.URL, id, r.ID)
	}
	x.remember(r)
	return nil
}

// logOnce says that a runner is at the address of another one; its heartbeats, which
// are many, say so each time.
func (x *identities) logOnce(r proto.Runner, id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.refused[r.URL] == id { // one that is refused comes back under other IDs
		return
	}
	if len(x.refused) >= maxConfirmed {
		clear(x.refused)
	}
	x.refused[r.URL] = id
	x.log.Error("a job runner is refused: another one answers at its URL; set server.url of each to an address of its own",
		"url", r.URL, "runner", r.ID, "host", r.Host, "answers", id)
}

func (x *identities) isConfirmed(r proto.Runner) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	at, ok := x.confirmed[r.ID]
	return ok && at == r.URL
}

func (x *identities) remember(r proto.Runner) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.confirmed) >= maxConfirmed {
		clear(x.confirmed)
	}
	x.confirmed[r.ID] = r.URL
}

// metadataAddresses are where clouds tell a machine its credentials, besides
// link-local addresses.
var metadataAddresses = []netip.Addr{netip.MustParseAddr("fd00:ec2::254"), netip.MustParseAddr("100.100.100.200")}

// checkRunnerURL holds a runner to a URL that can only be that of a service: what a
// Request Manager calls must not be chosen freely.
func checkRunnerURL(text string) error {
	refuse := func(why string) error {
		return proto.Errorf(proto.CodeInvalid, "url: expected one such as http://host:32307, %s", why)
	}
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https":
		return refuse("with http or https and a host")
	case u.User != nil:
		return refuse("without credentials")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return refuse("without a query or a fragment")
	case u.Path != "" && u.Path != "/":
		return refuse("without a path")
	}
	ip, err := netip.ParseAddr(u.Hostname())
	if err == nil && !mayBeRunner(ip) {
		return refuse("not at a link-local, multicast, unspecified or metadata address")
	}
	return nil
}

// mayBeRunner reports whether a runner may be at an address.
func mayBeRunner(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	for _, m := range metadataAddresses {
		if ip == m {
			return false
		}
	}
	return !ip.IsLinkLocalUnicast() && !ip.IsMulticast() && !ip.IsUnspecified()
}

// CheckRunnerAddress is for a dialer: names of runners must not lead where no runner
// may be, either. Address is host:port of an address.
func CheckRunnerAddress(address string) error {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return err
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return err
	}
	if !mayBeRunner(ip) {
		return proto.Errorf(proto.CodeForbidden, "%s is not an address of a job runner", host)
	}
	return nil
}
