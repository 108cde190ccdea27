package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/store"
)

var (
	after     = testkit.After
	must      = testkit.Must
	errorCode = testkit.ErrorCode
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.IgnoreCurrent()) }

// epoch is when virtual time begins.
var epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// world is a database in virtual time, with members around it and a hook that the
// test decides about.
type world struct {
	t     *testing.T
	store *store.Store
	path  string
	// shift is by how much the database's clock is off.
	shift atomic.Int64

	mu sync.Mutex
	// does, by app, says what an instance does; without, it ends well at once.
	does    map[string]func(in proto.Instance) (Outcome, error)
	undo    map[string]func(in proto.Instance) (Outcome, error)
	down    map[string]bool // hosts
	runs    []string        // names of the instances that were run, in order
	confs   map[string]string
	working map[string]int // how many calls there are of an instance now
}

// inWorld runs a test in virtual time.
func inWorld(t *testing.T, test func(w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := &world{t: t, does: map[string]func(proto.Instance) (Outcome, error){}, undo: map[string]func(proto.Instance) (Outcome, error){},
			down: map[string]bool{}, confs: map[string]string{}, working: map[string]int{}}
		w.path = filepath.Join(memoryDir(t), "treadle.db")
		db, err := database.Open(t.Context(), database.Config{
			SQLitePath: w.path,
			Now:        func() time.Time { return time.Now().Add(time.Duration(w.shift.Load())) },
		})
		must(t, err)
		t.Cleanup(func() { must(t, db.Close()) })
		must(t, db.Migrate(t.Context()))
		w.store = store.New(db)
		test(w)
	})
}

// memoryDir is a directory in memory, where there is one: a day of virtual time is
// thousands of transactions, and a third of what they cost is waiting for the disk.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "treadle-engine-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { must(t, os.RemoveAll(dir)) })
	return dir
}

// engine makes an engine that does not run.
func (w *world) engine(id string, change ...func(*Config)) *Engine {
	// Slow, as far as that changes nothing: virtual time is free, queries are not.
	cfg := Config{Poll: 10 * time.Minute, Heartbeat: 20 * time.Minute, StaleAfter: 2 * time.Hour,
		Store: w.store, Hook: w, Logger: slog.New(slog.DiscardHandler), Member: proto.Member{ID: id, Host: id}}
	for _, c := range change {
		c(&cfg)
	}
	return New(cfg)
}

// calm is for tests of many days: what is due is known an hour before.
func calm(c *Config) { c.Poll, c.Heartbeat, c.StaleAfter = time.Hour, 2*time.Hour, 12*time.Hour }

func specs(apps ...proto.App) func(*Config) {
	return func(c *Config) { c.SpecApps = apps }
}

// run runs an engine until the test or the function that it returns ends it.
func (w *world) run(e *Engine) (stop func()) {
	w.t.Helper()
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		e.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-ended
	}
	w.t.Cleanup(stop)
	synctest.Wait()
	return stop
}

// Ready, Run and Undo make the world the hook of its engines.
func (w *world) Ready(_ context.Context, in proto.Instance) (bool, string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.down[in.Host], "waits for " + in.Host
}

func (w *world) Run(_ context.Context, _ proto.App, in proto.Instance) (Outcome, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.runs = append(w.runs, in.Name)
	w.confs[in.Name] = string(in.Conf)
	if f := w.does[in.App]; f != nil {
		return f(in)
	}
	return ok(in), nil
}

func (w *world) Undo(_ context.Context, _ proto.App, in proto.Instance) (Outcome, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f := w.undo[in.App]; f != nil {
		return f(in)
	}
	return Outcome{Done: true, OK: true}, nil
}

// ok is the outcome of an instance that went well; its result is its name.
func ok(in proto.Instance) Outcome {
	return Outcome{Done: true, OK: true, Result: json.RawMessage(fmt.Sprintf(`{"from":%q}`, in.Name))}
}

// do says what the instances of an app do from now on.
func (w *world) do(app string, f func(in proto.Instance) (Outcome, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.does[app] = f
}

func (w *world) undoes(app string, f func(in proto.Instance) (Outcome, error)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.undo[app] = f
}

func (w *world) setDown(host string, down bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down[host] = down
}

// lasts is an instance that takes a while.
func lasts(d time.Duration) func(proto.Instance) (Outcome, error) {
	return func(in proto.Instance) (Outcome, error) {
		if left := time.Until(in.StartedAt.Add(d)); left > 0 {
			return Outcome{CheckAfter: left, Reason: "not yet"}, nil
		}
		return ok(in), nil
	}
}

func fails(proto.Instance) (Outcome, error) { return Outcome{Done: true, Reason: "no luck"}, nil }

// ran returns the names of the instances of an app that were run, once each, in order.
func (w *world) ran(app string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, name := range w.runs {
		if strings.HasSuffix(name, "-"+app) && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// conf returns what an instance was given.
func (w *world) conf(name string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.confs[name]
}

func (w *world) wantRan(app string, want ...string) {
	w.t.Helper()
	got := w.ran(app)
	for i := range want {
		want[i] += "-" + app
	}
	if !slices.Equal(got, want) {
		w.t.Fatalf("ran:\n  %q\nwant\n  %q", got, want)
	}
}

// instances returns what is stored of an app, archived ones too, by number.
func (w *world) instances(app string) []proto.Instance {
	w.t.Helper()
	list, err := w.store.PeriodInstances(w.t.Context(), app, time.Unix(0, 0), epoch.AddDate(100, 0, 0), 100_000)
	must(w.t, err)
	slices.SortFunc(list, func(a, b proto.Instance) int { return int(a.Number) - int(b.Number) })
	return list
}

// wantSound checks what is always so of an app: numbers without a hole, one instance
// at most that waits and makes the next.
func (w *world) wantSound(app string) {
	w.t.Helper()
	next := 0
	for i, in := range w.instances(app) {
		if in.Number != uint64(i+1) {
			w.t.Fatalf("instance %d of %s is in place %d", in.Number, app, i+1)
		}
		if in.State == proto.InstanceQueued && in.Recurring {
			next++
		}
	}
	if next > 1 {
		w.t.Fatalf("%d instances of %s wait to be the next", next, app)
	}
}

// states returns the states of the instances of an app by name.
func (w *world) states(app string) map[string]string {
	w.t.Helper()
	out := map[string]string{}
	for _, in := range w.instances(app) {
		out[strings.TrimSuffix(in.Name, "-"+app)] = in.State.String()
	}
	return out
}

func (w *world) wantStates(app string, want map[string]string) {
	w.t.Helper()
	got := w.states(app)
	for name, state := range want {
		if got[name] != state {
			w.t.Fatalf("%s of %s is %q, want %q; all: %v", name, app, got[name], state, got)
		}
	}
}

func (w *world) skippedOf(app string) (n uint64) {
	w.t.Helper()
	events, err := w.store.Events(w.t.Context(), app, 0, 1000)
	must(w.t, err)
	for _, ev := range events {
		if ev.Kind == proto.AppSkipped {
			n += ev.Count
		}
	}
	return n
}

func (w *world) eventsOf(app, kind string) (out []store.AppEvent) {
	w.t.Helper()
	events, err := w.store.Events(w.t.Context(), app, 0, 1000)
	must(w.t, err)
	for _, ev := range events {
		if ev.Kind == kind {
			out = append(out, ev)
		}
	}
	return out
}

func (w *world) put(e *Engine, app proto.App) {
	w.t.Helper()
	_, err := e.PutApp(w.t.Context(), app)
	must(w.t, err)
	synctest.Wait()
}

// at lets virtual time pass until then, after the epoch, and all happen that happens.
func at(d time.Duration) { after(time.Until(epoch.Add(d))) }

func hours(n float64) time.Duration { return time.Duration(n * float64(time.Hour)) }

var errNow = errors.New("cannot say now")
