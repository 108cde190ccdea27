package store

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/treadle-run/treadle/proto"
)

// reportItem is an item that is ready to be stored.
type reportItem struct {
	*proto.ReportItem
	target proto.State // unless a stop was asked for
	rows   [][]any     // of entries that are not stored yet
	sjc    []byte      // if Suspended is set
}

// refusal says why an item is not stored.
func refusal(it *proto.ReportItem, format string, args ...any) proto.Refusal {
	return proto.Refusal{RequestID: it.RequestID, Epoch: it.Epoch, Message: fmt.Sprintf(format, args...)}
}

// prepareReport refuses what cannot be stored at first sight and returns the rest in
// the order in which rows are taken.
func (s *Store) prepareReport(items []proto.ReportItem) (ready []*reportItem, refused []proto.Refusal, err error) {
	seen := make(map[string]bool, len(items))
	for i := range items {
		it := &items[i]
		if seen[it.RequestID] {
			return nil, nil, proto.Errorf(proto.CodeInvalid, "report: more than one item for request %s", it.RequestID)
		}
		seen[it.RequestID] = true
		p, err := s.prepareItem(it)
		if err != nil {
			refused = append(refused, refusal(it, "%v", err))
			continue
		}
		ready = append(ready, p)
	}
	slices.SortFunc(ready, func(a, b *reportItem) int { return cmp.Compare(a.RequestID, b.RequestID) })
	return ready, refused, nil
}

func (s *Store) prepareItem(it *proto.ReportItem) (*reportItem, error) {
	p := &reportItem{ReportItem: it, target: proto.StateRunning}
	switch {
	case !plausibleID(it.RequestID):
		return nil, errors.New("there is no such request")
	case it.Epoch > math.MaxInt64:
		return nil, fmt.Errorf("epoch %d is out of range", it.Epoch)
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
		if p.sjc, err = s.db.EncodeBlob(it.RequestID, body, seal); err != nil {
			return nil, err
		}
	}
	for i := range it.Entries {
		e := &it.Entries[i]
		if i > 0 && e.Seq <= it.Entries[i-1].Seq {
			return nil, fmt.Errorf("entry %d stands after entry %d", e.Seq, it.Entries[i-1].Seq)
		}
		if err := e.Check(it.RequestID); err != nil {
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
