package request

import (
	"context"
	"errors"
	"slices"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// How much one transaction of new requests may have.
const (
	maxCreateBatch = 100
	maxCreateBytes = 8 << 20
)

// creator stores new requests: while one transaction is under way, the next
// gathers. One caller alone does not wait, many share the cost of a commit.
type creator struct {
	store *store.Store
	queue chan *creation
	ended chan struct{} // closed when nothing is stored any more
}

type creation struct {
	new  *store.NewRequest
	done chan error // has room for the answer
}

func newCreator(s *store.Store) *creator {
	return &creator{store: s, queue: make(chan *creation, maxCreateBatch), ended: make(chan struct{})}
}

// create returns when the request is durable, or why it is not. If ctx ends
// first, it may become durable nevertheless.
func (c *creator) create(ctx context.Context, n *store.NewRequest) error {
	w := &creation{new: n, done: make(chan error, 1)}
	select {
	case c.queue <- w:
	case <-c.ended:
		return errEnding
	case <-ctx.Done():
		return unavailable(ctx)
	}
	select {
	case err := <-w.done:
		return err
	case <-c.ended:
	case <-ctx.Done():
		return unavailable(ctx)
	}
	select {
	case err := <-w.done: // it was in the last batch
		return err
	default:
		return errEnding
	}
}

var errEnding = &proto.Error{Code: proto.CodeUnavailable, Message: "the request manager is shutting down; try again with the same Idempotency-Key"}

func unavailable(ctx context.Context) error {
	return &proto.Error{Code: proto.CodeUnavailable, Message: "not stored in time; try again with the same Idempotency-Key", Err: context.Cause(ctx)}
}

func (c *creator) run(ctx context.Context) {
	defer close(c.ended)
	for {
		select {
		case w := <-c.queue:
			c.storeBatch(ctx, c.gather(w))
		case <-ctx.Done():
			return
		}
	}
}

func (c *creator) gather(first *creation) []*creation {
	batch, size := []*creation{first}, len(first.new.Chain)
	for len(batch) < maxCreateBatch && size < maxCreateBytes {
		select {
		case w := <-c.queue:
			batch = append(batch, w)
			size += len(w.new.Chain)
		default:
			return batch
		}
	}
	return batch
}

// storeBatch stores all it can. A request that cannot be stored does not keep
// the others from it.
func (c *creator) storeBatch(ctx context.Context, batch []*creation) {
	// A caller whose key is taken gets the error after the others are stored: the one
	// with the same key may be among them, and must be found then.
	taken := map[*creation]error{}
	defer func() {
		for w, err := range taken {
			w.done <- err
		}
	}()
	for len(batch) > 0 {
		requests := make([]store.NewRequest, len(batch))
		for i, w := range batch {
			requests[i] = *w.new
		}
		err := c.store.CreateRequests(ctx, requests)
		key, isTaken := errors.AsType[*store.KeyTakenError](err)
		switch {
		case isTaken:
			taken[batch[key.Index]] = err
			batch = slices.Delete(batch, key.Index, key.Index+1)
			continue
		case err != nil && len(batch) > 1 && !errors.Is(err, store.ErrUnavailable) && ctx.Err() == nil:
			for _, w := range batch {
				c.storeBatch(ctx, []*creation{w})
			}
			return
		}
		for i, w := range batch {
			w.new.Request = requests[i].Request // with its time and state
			w.done <- err
		}
		return
	}
}
