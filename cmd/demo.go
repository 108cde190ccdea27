package cmd

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/rs/xid"

	"github.com/treadle-run/treadle/proto"
)

// devReady is what treadle dev tells once it listens: where, the demo if one is
// wanted, and what to try next.
func (p *program) devReady(ctx context.Context, f devFlags, url string) {
	p.say("treadle listens at %s; data in %s, specs from %s", url, f.data, f.specs)
	if f.demo != "" {
		if err := p.demo(ctx, f.demo, url); err != nil && ctx.Err() == nil {
			p.say("the demo did not go well: %s", message(err))
		}
	}
	if ctx.Err() == nil {
		p.say("%s", p.whatToTry(f, url))
	}
}

// demo starts a request and shows it to its end.
func (p *program) demo(ctx context.Context, requestType, url string) error {
	p.addr = url
	c, err := p.client()
	if err != nil {
		return err
	}
	p.say("\nstarting a request: treadle start %s --wait", requestType)
	r, err := c.CreateRequest(ctx, proto.CreateRequest{Type: requestType}, xid.New().String())
	if err != nil {
		return err
	}
	// Ctrl-C ends the Request Manager, too: nothing is left to say of the request.
	if err := p.showToEnd(ctx, c, r.ID); err != nil {
		if _, ok := errors.AsType[*exitError](err); ok {
			return nil // it ended badly, and has been shown: that is no error of dev
		}
		return err
	}
	entries, err := c.JobLog(ctx, r.ID)
	if err != nil {
		return err
	}
	return p.log(entries, true)
}

// whatToTry says how to go on: verbs, and a line of curl. They are written as
// this program was called, and name the address unless it is the default.
func (p *program) whatToTry(f devFlags, url string) string {
	name, addr := programName(), ""
	if url != defaultAddr {
		addr = " --addr " + url
	}
	request := f.demo
	if request == "" {
		request = "TYPE"
	}
	return "\nTry next, in another terminal:\n" +
		"  " + name + " requests" + addr + "\n" +
		"  " + name + " start " + request + " --wait" + addr + "\n" +
		"  " + name + " find" + addr + "\n" +
		"  curl -s -X POST " + url + "/api/v1/requests -d '{\"Type\": \"" + request + "\"}'\n" +
		"Ctrl-C ends treadle; the data stays in " + f.data + "."
}

// programName is how the user calls this program: by name if that finds it, else
// by path.
func programName() string {
	if !filepath.IsAbs(os.Args[0]) && filepath.Base(os.Args[0]) != os.Args[0] {
		return os.Args[0]
	}
	return filepath.Base(os.Args[0])
}
