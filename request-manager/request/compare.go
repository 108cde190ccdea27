package request

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/treadle-run/treadle/internal/mask"
	"github.com/treadle-run/treadle/internal/wait"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// Bounds of what waits to be compared, and of what is logged of a difference.
const (
	maxCompareJobs = 200_000 // of all chains that wait; one chain alone may have more
	maxDifferences = 20
	maxShown       = 300 // bytes of one value
)

// comparer compares every suspended job chain that a runner hands back with the one
// that a replay of the job log gives. They must be equal: recovery relies on it. It
// is done afterwards, so that no runner waits for it, and skipped where too much is
// handed back at once.
type comparer struct {
	store    *store.Store
	log      *slog.Logger
	compared *prometheus.CounterVec // by outcome
	wake     chan struct{}

	mu      sync.Mutex
	waiting []*proto.SuspendedJobChain
	jobs    int
}

func (x *comparer) add(sjc *proto.SuspendedJobChain) {
	n := len(sjc.JobChain.Jobs)
	x.mu.Lock()
	full := len(x.waiting) > 0 && x.jobs+n > maxCompareJobs
	if !full {
		x.waiting = append(x.waiting, sjc)
		x.jobs += n
	}
	x.mu.Unlock()
	if full {
		x.compared.WithLabelValues(outcomeSkipped).Inc()
		return
	}
	wait.Nudge(x.wake)
}

func (x *comparer) take() *proto.SuspendedJobChain {
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.waiting) == 0 {
		x.waiting = nil
		return nil
	}
	sjc := x.waiting[0]
	x.waiting[0] = nil
	x.waiting = x.waiting[1:]
	x.jobs -= len(sjc.JobChain.Jobs)
	return sjc
}

func (x *comparer) run(ctx context.Context) {
	for {
		select {
		case <-x.wake:
		case <-ctx.Done():
			return
		}
		for sjc := x.take(); sjc != nil && ctx.Err() == nil; sjc = x.take() {
			outcome := x.compare(ctx, sjc)
			x.compared.WithLabelValues(outcome).Inc()
		}
	}
}

func (x *comparer) compare(ctx context.Context, sjc *proto.SuspendedJobChain) (outcome string) {
	log := x.log.With("request", sjc.RequestID, "entries", sjc.Entries)
	c, secrets, err := replayTo(ctx, x.store, sjc.RequestID, sjc.Entries)
	if err != nil {
		if ctx.Err() == nil && proto.ErrorCode(err) != proto.CodeUnavailable {
			log.Error("the job log does not fit the job chain of a request that was suspended", "error", err)
			return outcomeDiffers
		}
		return outcomeSkipped
	}
	differences, err := differences(sjc, c.Suspended(), mask.New(secrets))
	if err != nil {
		log.Error("a suspended job chain has no JSON form", "error", err)
		return outcomeDiffers
	}
	if len(differences) == 0 {
		return outcomeEqual
	}
	log.Error("the suspended job chain of the runner differs from a replay of the job log",
		"differences", strings.Join(differences, "; "))
	return outcomeDiffers
}

// differences says where two suspended job chains are not equal, as JSON, with both
// values, masked; of many, the first.
func differences(runner, replay *proto.SuspendedJobChain, mask mask.Masker) ([]string, error) {
	a, err := json.Marshal(runner)
	if err != nil {
		return nil, err
	}
	b, err := json.Marshal(replay)
	if err != nil || bytes.Equal(a, b) {
		return nil, err
	}
	x, err := proto.DecodeValue(a)
	if err != nil {
		return nil, err
	}
	y, err := proto.DecodeValue(b)
	if err != nil {
		return nil, err
	}
	d := diff{mask: mask}
	d.values("", x, y)
	return d.found, nil
}

// diff gathers differences.
type diff struct {
	mask  mask.Masker
	found []string
}

func (d *diff) values(path string, runner, replay any) {
	if len(d.found) >= maxDifferences || reflect.DeepEqual(runner, replay) {
		return
	}
	x, isMap := runner.(map[string]any)
	y, both := replay.(map[string]any)
	if !isMap || !both {
		d.found = append(d.found, fmt.Sprintf("%s: runner %s, replay %s", path, d.shown(path, runner), d.shown(path, replay)))
		return
	}
	keys := maps.Clone(x)
	maps.Copy(keys, y)
	for _, k := range slices.Sorted(maps.Keys(keys)) {
		d.values(strings.TrimPrefix(path+"."+k, "."), x[k], y[k])
	}
}

// shown writes a value, cut to a readable length. The private data of a job type is
// left out: it may have secrets in any form.
func (d *diff) shown(path string, x any) string {
	if path == "jobChain.secrets" || strings.HasSuffix(path, ".bytes") {
		return "(not shown)"
	}
	b, err := d.mask.Values(proto.Values{"": x}).MarshalJSON()
	if err != nil {
		return fmt.Sprint(err)
	}
	text := string(b[len(`{"":`) : len(b)-1])
	if len(text) > maxShown {
		text = text[:maxShown] + "..."
	}
	return text
}
