package request

import (
	"container/list"
	"context"
	"errors"
	"sync"

	"github.com/treadle-run/treadle/chain"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// maxFoldedJobs bounds the jobs of all chains that folds keeps; one chain alone may
// have more.
const maxFoldedJobs = 300_000

// folds checks what runners report of a request against its chain, before it is
// stored: an entry that does not fit would make the log unreadable for ever. It keeps
// the chains that were reported of last, each with the entries that it has seen; one
// that is not kept, or that does not agree, is computed from what is stored.
type folds struct {
	store *store.Store

	mu    sync.Mutex
	byID  map[string]*list.Element
	order *list.List // of *fold, the one used last in front
	jobs  int
}

// fold is the chain of one request with the entries that were reported so far.
type fold struct {
	id   string
	jobs int

	mu    sync.Mutex
	jc    *proto.JobChain // until the first report; nil afterwards, or if it must be read
	chain *chain.Chain    // nil: not computed yet
}

func newFolds(s *store.Store) *folds {
	return &folds{store: s, byID: map[string]*list.Element{}, order: list.New()}
}

// seed keeps the chain of a request that was just created, which saves reading it.
func (x *folds) seed(id string, jc *proto.JobChain) { x.add(&fold{id: id, jobs: len(jc.Jobs), jc: jc}) }

// add keeps a fold, unless there is one of that request, and returns the one that is
// kept. Those that were not used for longest make room.
func (x *folds) add(f *fold) *fold {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.byID[f.id]; e != nil {
		x.order.MoveToFront(e)
		return e.Value.(*fold)
	}
	x.byID[f.id] = x.order.PushFront(f)
	x.jobs += f.jobs
	for x.jobs > maxFoldedJobs && x.order.Len() > 1 {
		x.remove(x.order.Back())
	}
	return f
}

// size records how many jobs a fold has that was added without its chain.
func (x *folds) size(f *fold, jobs int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.byID[f.id]; e != nil && e.Value == f {
		x.jobs += jobs - f.jobs
		f.jobs = jobs
	}
}

// forget drops the fold of a request: it has ended here, or what is stored of it is not
// known.
func (x *folds) forget(id string) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if e := x.byID[id]; e != nil {
		x.remove(e)
	}
}

func (x *folds) remove(e *list.Element) {
	f := x.order.Remove(e).(*fold)
	delete(x.byID, f.id)
	x.jobs -= f.jobs
}

// check returns why an item of a runner's report does not fit the chain of its request,
// as a CodeConflict, and sets the count of finished jobs to what the log says: users
// must not see more than is stored. Another error says that it cannot be told now.
//
// Entries that were checked before are not checked again: the store compares them with
// what it has.
func (x *folds) check(ctx context.Context, item *proto.ReportItem) error {
	f := x.add(&fold{id: item.RequestID})
	f.mu.Lock()
	defer f.mu.Unlock()
	err := errNoFold
	if f.jc != nil || f.chain != nil {
		err = f.apply(item)
	}
	if err != nil {
		// Another manager may have stored more, or the database may have been set back.
		if err := x.load(ctx, f); err != nil {
			return err
		}
		err = f.apply(item)
	}
	if err != nil {
		f.chain = nil // half of the entries may be in it
		return proto.Errorf(proto.CodeConflict, "%s", proto.Body(err).Message).ForRequest(item.RequestID)
	}
	return nil
}

var errNoFold = errors.New("the chain is not kept")

// load computes the chain of a fold from what is stored.
func (x *folds) load(ctx context.Context, f *fold) error {
	c, _, err := replay(ctx, x.store, f.id)
	f.jc, f.chain = nil, c
	if err != nil {
		f.chain = nil
		return err
	}
	x.size(f, int(c.TotalJobs()))
	return nil
}

// apply applies the entries of an item, and checks what it says besides.
func (f *fold) apply(item *proto.ReportItem) error {
	if f.chain == nil {
		c, err := chain.New(f.jc)
		if err != nil {
			return err
		}
		f.jc, f.chain = nil, c
	}
	for i := range item.Entries {
		e := item.Entries[i]
		if e.Seq < f.chain.Entries() {
			continue
		}
		e.Data = nil // makes no difference to what may come next
		if err := f.chain.Apply(&e); err != nil {
			return err
		}
	}
	if total := f.chain.TotalJobs(); item.FinishedJobs > total {
		return proto.Errorf(proto.CodeConflict, "finishedJobs is %d, and the request has %d jobs", item.FinishedJobs, total)
	}
	if state, done := f.chain.Done(); item.Final == proto.StateComplete && !(done && state == proto.StateComplete) {
		return proto.Errorf(proto.CodeConflict, "the request cannot be COMPLETE: by its job log %d of %d jobs are", f.chain.FinishedJobs(), f.chain.TotalJobs())
	}
	item.FinishedJobs = f.chain.FinishedJobs()
	return nil
}

// checkNext is check for an entry that has no place in the log yet: it gets the next
// one.
func (x *folds) checkNext(ctx context.Context, e proto.JobLog) error {
	f := x.add(&fold{id: e.RequestID})
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := x.load(ctx, f); err != nil {
		return err
	}
	e.Seq, e.Data = f.chain.Entries(), nil
	if err := f.chain.Apply(&e); err != nil {
		return proto.Errorf(proto.CodeConflict, "%s", proto.Body(err).Message).ForRequest(e.RequestID)
	}
	return nil
}
