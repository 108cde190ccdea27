package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/engine"
)

// hook is what the instances of the test do: they work for a while, look again later,
// fail, or write their artifact. What they do depends on the seed and on the instance
// as it is, so that another try of the same instance does something else.
type hook struct {
	artifacts *artifacts
	trace     *traceFile
	seed      uint64
	scale     time.Duration
}

// errAtRandom is when a hook does not know.
var errAtRandom = errors.New("not known, at random")

func (h *hook) rand(in proto.Instance, what string) *rand.Rand {
	f := fnv.New64a()
	fmt.Fprintf(f, "%s %d %d %s", in.App, in.Number, in.Sequence, what)
	return rand.New(rand.NewPCG(h.seed, f.Sum64()))
}

// Ready is seldom false.
func (h *hook) Ready(_ context.Context, in proto.Instance) (ok bool, reason string) {
	if h.rand(in, "ready").IntN(200) == 0 {
		return false, "not ready, at random"
	}
	return true, ""
}

// Run works, and writes the artifact.
func (h *hook) Run(ctx context.Context, app proto.App, in proto.Instance) (out engine.Outcome, err error) {
	call, err := h.trace.begin(in, "run")
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, call.end(out, err)) }()
	if wrong := wrongConf(app, in); wrong != "" {
		if err := call.wrong(wrong); err != nil {
			return out, err
		}
	}
	r := h.rand(in, "run")
	if err := h.work(ctx, r); err != nil {
		return out, err
	}
	n := r.IntN(100)
	switch {
	case n < 4:
		return out, errAtRandom
	case n < 24:
		return engine.Outcome{Reason: "looks again later", CheckAfter: h.upTo(r, 1.5)}, nil
	case n < 28:
		return engine.Outcome{Done: true, Reason: "failed before its artifact"}, nil
	}
	if err := h.artifacts.put(ctx, in.App, in.Number, in.Sequence, true); err != nil {
		return out, err
	}
	if err := h.work(ctx, r); err != nil {
		return out, err
	}
	if n < 34 {
		return engine.Outcome{Done: true, Reason: "failed after its artifact"}, nil
	}
	result, err := json.Marshal(map[string]any{"made": in.Number})
	return engine.Outcome{Done: true, OK: true, Result: result}, err
}

// Undo deletes the artifact.
func (h *hook) Undo(ctx context.Context, _ proto.App, in proto.Instance) (out engine.Outcome, err error) {
	call, err := h.trace.begin(in, "undo")
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, call.end(out, err)) }()
	r := h.rand(in, "undo")
	if err := h.work(ctx, r); err != nil {
		return out, err
	}
	n := r.IntN(100)
	switch {
	case n < 5:
		return out, errAtRandom
	case n < 15:
		return engine.Outcome{Reason: "looks again later", CheckAfter: h.upTo(r, 1)}, nil
	case n < 30:
		return engine.Outcome{Done: true, Reason: "the undo failed, at random"}, nil
	}
	if err := h.artifacts.put(ctx, in.App, in.Number, in.Sequence, false); err != nil {
		return out, err
	}
	return engine.Outcome{Done: true, OK: true}, h.work(ctx, r)
}

// steps is how many pieces a scale unit of work has.
const steps = 20

// work takes up to 0.6 scale units, mostly less, in small pieces: a member that was
// frozen has as much of it before it as when it was stopped.
func (h *hook) work(ctx context.Context, r *rand.Rand) error {
	tick := time.NewTicker(h.scale / steps)
	defer tick.Stop()
	x := r.Float64()
	for range int(x * x * 0.6 * steps) {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return ctx.Err()
}

func (h *hook) upTo(r *rand.Rand, most float64) time.Duration {
	return time.Duration((0.05 + most*r.Float64()) * float64(h.scale)).Round(time.Millisecond)
}

// wrongConf says what is wrong with what an instance got from those before it.
func wrongConf(app proto.App, in proto.Instance) string {
	for up := range app.Depends {
		if !strings.Contains(string(in.Conf), `"`+up+`"`) {
			return fmt.Sprintf("conf without %s: %.200s", up, strings.ReplaceAll(string(in.Conf), "\n", " "))
		}
	}
	return ""
}
