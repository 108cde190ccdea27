package requests

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"
)

// echo serves lines until the test ends, and returns its address.
func echo(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ln.Close() })
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	return ln.Addr().String()
}

// echoed sends a line over a connection and waits for it to come back.
func echoed(c net.Conn, wait time.Duration) error {
	if err := c.SetDeadline(time.Now().Add(wait)); err != nil {
		return err
	}
	if _, err := c.Write([]byte("x\n")); err != nil {
		return err
	}
	_, err := bufio.NewReader(c).ReadString('\n')
	return err
}

func TestLinksBreakAndHeal(t *testing.T) {
	t.Parallel()
	l := newLink("a", "b")
	p, err := startProxy(fixed(route{l, echo(t)}))
	if err != nil {
		t.Fatal(err)
	}
	defer p.stop()
	dial := func() net.Conn {
		t.Helper()
		c, err := net.Dial("tcp", p.addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	const long, brief = 10 * time.Second, 200 * time.Millisecond
	c := dial()
	if err := echoed(c, long); err != nil {
		t.Fatalf("a link that is well: %v", err)
	}

	l.set(hole, 0)
	if err := echoed(c, brief); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("over a black hole: %v, want nothing to come", err)
	}
	if err := echoed(dial(), brief); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a new connection over a black hole: %v, want nothing to come", err)
	}
	l.set("", 0)
	if err := echoed(c, long); err != nil {
		t.Errorf("when the black hole is gone: %v", err)
	}

	l.set(slow, brief)
	begun := time.Now()
	if err := echoed(c, long); err != nil || time.Since(begun) < brief {
		t.Errorf("over a slow link: %v after %s", err, time.Since(begun))
	}

	l.set(cut, 0)
	if err := echoed(c, long); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("over a cut link: %v, want a broken connection", err)
	}
	// It may be cut before it is there.
	if c, err := net.Dial("tcp", p.addr()); err == nil {
		if err := echoed(c, long); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a new connection over a cut link: %v, want a broken one", err)
		}
		_ = c.Close()
	}
	l.set("", 0)
	if err := echoed(dial(), long); err != nil {
		t.Errorf("a new connection when it is well again: %v", err)
	}
}

func TestALoadBalancerGoesOnWithWhatIsLeft(t *testing.T) {
	t.Parallel()
	broken, well := newLink("a", "b"), newLink("a", "c")
	broken.set(cut, 0)
	to := echo(t)
	p, err := startProxy(func(net.Addr) []route { return []route{{broken, to}, {well, to}} })
	if err != nil {
		t.Fatal(err)
	}
	defer p.stop()
	c, err := net.Dial("tcp", p.addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := echoed(c, 10*time.Second); err != nil {
		t.Error(err)
	}
	if !ownsConnection(os.Getpid(), c.LocalAddr()) || ownsConnection(1, c.LocalAddr()) {
		t.Error("it is not known who has a connection")
	}
}
