package cmd

import (
	"context"
	"os"
	"path/filepath"

	"github.com/treadle-run/treadle/cmd/internal/requests"
	"github.com/treadle-run/treadle/cmd/internal/verb"
)

// ready says where treadle dev listens, runs the demo if there is one, and says what to
// try next.
func (d *dev) ready(ctx context.Context, url string) {
	f := d.flags
	d.out.Say("treadle listens at %s; data in %s, specs from %s", url, f.data, f.specs)
	if f.demo != "" {
		if err := d.demo(ctx, url); err != nil && ctx.Err() == nil {
			d.out.Say("the demo failed: %s", verb.Message(err))
		}
	}
	if ctx.Err() == nil {
		d.out.Say("%s", whatToTry(f, url))
	}
}

func (d *dev) demo(ctx context.Context, url string) error {
	api, err := d.manager.Client(url)
	if err != nil {
		return err
	}
	defer api.Close()
	return requests.Demo(ctx, api, d.out, d.flags.demo)
}

// whatToTry lists commands to try next. They call this program as the user did, and
// name the address unless it is the default.
func whatToTry(f devFlags, url string) string {
	name, addr := programName(), ""
	if url != verb.DefaultAddr {
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

// programName is how the user called this program: by name or by path.
func programName() string {
	if !filepath.IsAbs(os.Args[0]) && filepath.Base(os.Args[0]) != os.Args[0] {
		return os.Args[0]
	}
	return filepath.Base(os.Args[0])
}
