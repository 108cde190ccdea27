package request

import (
	"context"
	"encoding/json"
	"errors"
	"math"

	"github.com/treadle-run/treadle/chain"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// replay computes a chain from its archive and its job log, and returns its secrets,
// too.
func replay(ctx context.Context, s *store.Store, id string) (*chain.Chain, []string, error) {
	return replayTo(ctx, s, id, math.MaxUint64)
}

// errEnough ends a replay before the end of the log.
var errEnough = errors.New("enough")

// replayTo computes a chain as it was when its log had that many entries, and
// returns its secrets, too.
func replayTo(ctx context.Context, s *store.Store, id string, entries uint64) (*chain.Chain, []string, error) {
	body, err := s.Chain(ctx, id)
	if err != nil {
		return nil, nil, storeError(err, id)
	}
	var jc proto.JobChain
	if err := json.Unmarshal(body, &jc); err != nil {
		return nil, nil, brokenChain(id, err)
	}
	c, err := chain.New(&jc)
	if err != nil {
		return nil, nil, brokenChain(id, err)
	}
	var unfit error
	err = s.EachJobLog(ctx, id, func(e *proto.JobLog) error {
		if e.Seq >= entries {
			return errEnough
		}
		unfit = c.Apply(e)
		return unfit
	})
	if unfit != nil {
		return nil, nil, brokenChain(id, unfit)
	}
	if err != nil && !errors.Is(err, errEnough) {
		return nil, nil, storeError(err, id)
	}
	return c, jc.Secrets, nil
}

// isBroken reports whether err says that what is stored of a request cannot be read,
// now or later.
func isBroken(err error) bool {
	var broken *brokenError
	return errors.As(err, &broken)
}

// brokenError is why a stored chain, or its log, cannot be read.
type brokenError struct{ error }

func (e *brokenError) Unwrap() error { return e.error }

func brokenChain(id string, err error) error {
	return &proto.Error{Code: proto.CodeInternal, Message: "the stored job chain or job log cannot be read", RequestID: id, Err: &brokenError{err}}
}
