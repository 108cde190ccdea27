package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// reportRaces bounds how often SaveReport begins again because requests changed
// between two of its transactions.
const reportRaces = 10

// errShort says that an UPDATE met fewer requests than the report has.
var errShort = errors.New("some requests are no longer the runner's")

// reportItem is an item that is ready to be stored.
type reportItem struct {
	*proto.ReportItem
	target proto.State // unless a stop was asked for
	rows   [][]any     // of entries that are not stored yet
	sjc    []byte      // if Suspended is set
}

// SaveReport stores the items of a report, each whole or not at all, in one
// transaction. An item is refused if its request is not RUNNING under its epoch,
// or if the database cannot hold it; the others are stored all the same. A report
// that was stored before is stored again without harm, also where it ended or
// suspended a request.
//
// A request that was to be stopped becomes STOPPED where the item says COMPLETE,
// FAIL or suspended. A request may be in one item only.
func (s *Store) SaveReport(ctx context.Context, items []proto.ReportItem) ([]proto.Refusal, error) {
	r := &report{s: s}
	ready, err := r.prepare(items)
	if err != nil {
		return nil, err
	}
	if err := r.save(ctx, ready); err != nil {
		return nil, err
	}
	return r.refused, nil
}

// report gathers what SaveReport refuses.
type report struct {
	s       *Store
	refused []proto.Refusal
}

func (r *report) refuse(it *proto.ReportItem, format string, args ...any) {
	r.refused = append(r.refused, proto.Refusal{
		RequestID: it.RequestID, Epoch: it.Epoch, Message: fmt.Sprintf(format, args...),
	})
}

// prepare refuses what cannot be stored at first sight and returns the rest in
// the order in which rows are taken.
func (r *report) prepare(items []proto.ReportItem) ([]*reportItem, error) {
	ready := make([]*reportItem, 0, len(items))
	seen := make(map[string]bool, len(items))
	for i := range items {
		it := &items[i]
		if seen[it.RequestID] {
			return nil, proto.Errorf(proto.CodeInvalid, "report: more than one item for request %s", it.RequestID)
		}
		seen[it.RequestID] = true
		p, err := r.s.prepareItem(it)
		if err != nil {
			r.refuse(it, "%v", err)
			continue
		}
		ready = append(ready, p)
	}
	slices.SortFunc(ready, func(a, b *reportItem) int { return cmp.Compare(a.RequestID, b.RequestID) })
	return ready, nil
}

func (s *Store) prepareItem(it *proto.ReportItem) (*reportItem, error) {
	p := &reportItem{ReportItem: it, target: proto.StateRunning}
	switch {
	case !plausibleID(it.RequestID):
		return nil, errors.New("there is no such request")
	case it.Final != proto.StateUnknown && it.Suspended != nil:
		return nil, errors.New("an item cannot end a chain and suspend it")
	case it.Final != proto.StateUnknown && !it.Final.Final():
		return nil, fmt.Errorf("a chain cannot end in state %s", it.Final)
	case it.Final != proto.StateUnknown:
		p.target = it.Final
	case it.Suspended != nil:
		p.target = proto.StateSuspended
		body, err := json.Marshal(it.Suspended)
		if err != nil {
			return nil, fmt.Errorf("suspended job chain: %w", err)
		}
		seal := it.Suspended.JobChain != nil && len(it.Suspended.JobChain.Secrets) > 0
		if p.sjc, err = s.encodeBlob(it.RequestID, body, seal); err != nil {
			return nil, err
		}
	}
	for i := range it.Entries {
		e := &it.Entries[i]
		if i > 0 && e.Seq <= it.Entries[i-1].Seq {
			return nil, fmt.Errorf("entry %d stands after entry %d", e.Seq, it.Entries[i-1].Seq)
		}
		if err := checkEntry(it.RequestID, e); err != nil {
			return nil, err
		}
		row, err := entryRow(it.RequestID, it.Epoch, e)
		if err != nil {
			return nil, err
		}
		p.rows = append(p.rows, row)
	}
	return p, nil
}

// save stores items. In the normal case that is one transaction. If it breaks
// off, the items that are in its way are taken out, and the rest begins again.
func (r *report) save(ctx context.Context, items []*reportItem) error {
	for range reportRaces {
		if len(items) == 0 {
			return nil
		}
		var grown *grownError
		err := r.s.saveItems(ctx, items)
		if err == nil {
			return nil
		}
		switch class := r.s.dialect.classify(err); {
		case errors.Is(err, errShort):
			items, err = r.dropLost(ctx, items)
		case errors.As(err, &grown):
			items, err = r.dropGrown(items, grown), nil
		case class == classDuplicate:
			items, err = r.dropStored(ctx, items)
		case class == classData && len(items) > 1:
			half := len(items) / 2
			if err := r.save(ctx, items[:half]); err != nil {
				return err
			}
			return r.save(ctx, items[half:])
		case class == classData:
			r.refuse(items[0].ReportItem, "the database cannot hold it: %v", err)
			return nil
		}
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("save report: %w", errStateChanged)
}

// saveItems stores all items or none.
func (s *Store) saveItems(ctx context.Context, items []*reportItem) error {
	return s.inTx(ctx, "save report", func(ctx context.Context, t *tx) error {
		if err := chunks(items, func(items []*reportItem) error { return t.moveRequests(ctx, items) }); err != nil {
			return err
		}
		var rows [][]any
		suspended := map[string][]byte{}
		for _, it := range items {
			rows = append(rows, it.rows...)
			if it.sjc != nil {
				suspended[it.RequestID] = it.sjc
			}
		}
		if err := s.insertRows(ctx, t, insertEntry, rows); err != nil {
			return err
		}
		if err := t.checkLogs(ctx, items); err != nil {
			return err
		}
		return t.insertSJCs(ctx, suspended, time.Time{})
	})
}
