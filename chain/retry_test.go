package chain

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestBackoff(t *testing.T) {
	t.Parallel()
	const s = int64(time.Second)
	tests := []struct {
		name     string
		b        backoff
		try      uint32
		min, max int64 // max is exclusive if there is jitter
	}{
		{"no wait", backoff{factor: 2}, 3, 0, 0},
		{"less than no wait", backoff{wait: -s}, 1, 0, 0},
		{"always the same", backoff{wait: 3 * s}, 7, 3 * s, 3 * s},
		{"the same, but no longer than", backoff{wait: 3 * s, limit: s}, 7, s, s},
		{"first", backoff{wait: 4 * s, factor: 2}, 1, 2 * s, 4 * s},
		{"second", backoff{wait: 4 * s, factor: 2}, 2, 4 * s, 8 * s},
		{"fourth", backoff{wait: 4 * s, factor: 2}, 4, 16 * s, 32 * s},
		{"up to", backoff{wait: 4 * s, factor: 2, limit: 10 * s}, 4, 5 * s, 10 * s},
		{"too long for a number", backoff{wait: 4 * s, factor: 10}, 4000, math.MaxInt64 / 2, math.MaxInt64},
		{"factor of 1 has jitter", backoff{wait: 4 * s, factor: 1}, math.MaxUint32, 2 * s, 4 * s},
		{"shrinking", backoff{wait: 4 * s, factor: 0.5}, 2, s, 2 * s},
		{"shrinking to nothing", backoff{wait: 4 * s, factor: 0.5}, math.MaxUint32, 0, 0},
		{"factor that is no number", backoff{wait: 4 * s, factor: math.NaN()}, 5, 4 * s, 4 * s},
		{"factor without end", backoff{wait: 4 * s, factor: math.Inf(1)}, 5, 4 * s, 4 * s},
	}
	for _, tt := range tests {
		for _, seed := range []uint64{0, 1, math.MaxUint64 / 2, math.MaxUint64} {
			tt.b.seed = seed
			got := tt.b.after(tt.try)
			if got < tt.min || got > tt.max || tt.max > tt.min && got == tt.max {
				t.Errorf("%s: %v, want from %v to %v", tt.name, time.Duration(got), time.Duration(tt.min), time.Duration(tt.max))
			}
		}
	}
}

func TestJitterDependsOnWhatIsTried(t *testing.T) {
	t.Parallel()
	seen := map[int64]bool{}
	for _, request := range []string{"r", "r2"} {
		for _, id := range []string{"a", "b"} {
			for try := range uint64(3) {
				seen[backoff{wait: int64(time.Hour), factor: 2, seed: hash(request, id, try)}.after(1)] = true
			}
		}
	}
	if len(seen) != 12 {
		t.Fatalf("12 tries wait for %d different times", len(seen))
	}
}

func TestLateTimesDoNotOverflow(t *testing.T) {
	t.Parallel()
	if got := until(math.MaxInt64-5, 10); got != math.MaxInt64 {
		t.Fatalf("got %d", got)
	}
	if got := until(5, 0); got != 0 {
		t.Fatalf("no wait ends at %d", got)
	}
}

func TestHeapGivesTheLeastFirst(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var h heap
		keys := rapid.SliceOf(rapid.Int64Range(-3, 30)).Draw(t, "keys")
		for i, k := range keys {
			h.push(k, int32(i))
		}
		last := heapItem{math.MinInt64, 0}
		for range keys {
			item := h.pop()
			if item.less(last) || keys[item.i] != item.key {
				t.Fatalf("%v after %v", item, last)
			}
			last = item
		}
		if len(h) != 0 {
			t.Fatalf("%d items are left", len(h))
		}
	})
}
