package requests

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// dialTimeout is for connections on this machine.
const dialTimeout = 2 * time.Second

// route is a place that a proxy may connect to.
type route struct {
	link *link
	addr string
}

// proxy listens in the place of a service and passes on what it gets, over links.
// With several routes it is a load balancer that asks the next one if one cannot
// be reached.
type proxy struct {
	ln     net.Listener
	routes func(client net.Addr) []route
	ctx    context.Context
	cancel context.CancelFunc
	conns  sync.WaitGroup
}

// startProxy starts a proxy. Routes is asked for each connection; the first that
// can be reached is taken.
func startProxy(routes func(client net.Addr) []route) (*proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{ln: ln, routes: routes}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.conns.Go(p.accept)
	return p, nil
}

// fixed is for a proxy that connects to one of several routes, whichever.
func fixed(routes ...route) func(net.Addr) []route {
	return func(net.Addr) []route {
		all := append([]route(nil), routes...)
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		return all
	}
}

func (p *proxy) addr() string { return p.ln.Addr().String() }

// stop closes everything and waits.
func (p *proxy) stop() {
	p.cancel()
	_ = p.ln.Close() // nobody is told
	p.conns.Wait()
}

func (p *proxy) accept() {
	for {
		c, err := p.ln.Accept()
		if err != nil {
			return
		}
		p.conns.Go(func() { p.serve(c) })
	}
}

// serve brings one connection to a route.
func (p *proxy) serve(client net.Conn) {
	defer reset(client)
	for _, r := range p.routes(client.RemoteAddr()) {
		if !r.link.add(client) {
			continue
		}
		served := p.serveOn(client, r)
		r.link.remove(client)
		if served {
			return
		}
	}
}

// serveOn reports whether the route took the connection.
func (p *proxy) serveOn(client net.Conn, r route) bool {
	if !r.link.pass(p.ctx) { // a black hole answers nobody
		return false
	}
	server, err := (&net.Dialer{Timeout: dialTimeout}).DialContext(p.ctx, "tcp", r.addr)
	if err != nil {
		return false
	}
	defer reset(server)
	if !r.link.add(server) {
		return false
	}
	defer r.link.remove(server)
	ctx, cancel := context.WithCancel(p.ctx)
	defer cancel()
	end := context.AfterFunc(ctx, func() {
		reset(client)
		reset(server)
	})
	defer end()
	var pumps sync.WaitGroup
	pumps.Go(func() {
		defer cancel()
		pump(ctx, server, client, r.link)
	})
	pump(ctx, client, server, r.link)
	cancel()
	pumps.Wait()
	return true
}

// pump copies until either side or the link breaks.
func pump(ctx context.Context, to, from net.Conn, l *link) {
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !l.pass(ctx) {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
