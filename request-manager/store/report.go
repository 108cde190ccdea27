package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

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
		err := r.s.saveItems(ctx, items)
		if err == nil {
			return nil
		}
		switch class := r.s.dialect.classify(err); {
		case errors.Is(err, errShort):
			items, err = r.dropLost(ctx, items)
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
		return t.insertSJCs(ctx, suspended)
	})
}

// move is what becomes of a request: the same for many of a report.
type move struct {
	target proto.State
	reason string
}

// moveRequests updates the requests of the items, in one statement.
func (t *tx) moveRequests(ctx context.Context, items []*reportItem) error {
	ids := make([]string, len(items))
	byID := make(map[string]*reportItem, len(items))
	epochs := make(map[string]uint64, len(items))
	moved := false
	for i, it := range items {
		ids[i], byID[it.RequestID], epochs[it.RequestID] = it.RequestID, it, it.Epoch
		moved = moved || it.target != proto.StateRunning
	}
	q := t.s.q("UPDATE requests" + t.s.dialect.usePrimary + " SET updated_at = ").now().add(", finished_jobs = ")
	q.choose(ids, func(id string) (any, fragment) {
		n := byID[id].FinishedJobs
		return n, func(q *query) { q.add("?", n) }
	})
	if moved {
		for _, column := range []struct {
			name  string
			value func(*query, move)
		}{
			{"state", (*query).moveState},
			{"reason", (*query).moveReason},
			{"finished_at", (*query).moveFinished},
			{"runner_id", func(q *query, m move) { q.keepIfRunning(m, "runner_id") }},
			{"jr_url", func(q *query, m move) { q.keepIfRunning(m, "jr_url") }},
		} {
			q.add(", "+column.name+" = ").choose(ids, func(id string) (any, fragment) {
				m := move{byID[id].target, cleanReason(byID[id].Reason)}
				return m, func(q *query) { column.value(q, m) }
			})
		}
	}
	n, err := q.fence(proto.StateRunning, ids, epochs).exec(ctx, t)
	if err != nil {
		return err
	}
	if int(n) < len(ids) {
		return errShort
	}
	return nil
}

func (q *query) moveState(m move) {
	if m.target == proto.StateRunning || m.target == proto.StateStopped {
		q.add("?", m.target)
		return
	}
	q.add("CASE WHEN stop_requested_at IS NULL THEN ? ELSE ? END", m.target, proto.StateStopped)
}

func (q *query) moveReason(m move) {
	switch {
	case m.target == proto.StateRunning:
		q.add("reason")
	case m.reason != "":
		q.add("?", m.reason)
	default:
		q.add("CASE WHEN stop_requested_at IS NULL THEN '' ELSE ? END", stopReason)
	}
}

func (q *query) moveFinished(m move) {
	switch {
	case m.target == proto.StateRunning:
		q.add("finished_at")
	case m.target.Final():
		q.now()
	default:
		q.add("CASE WHEN stop_requested_at IS NULL THEN NULL ELSE ").now().add(" END")
	}
}

func (q *query) keepIfRunning(m move, column string) {
	if m.target == proto.StateRunning {
		q.add(column)
	} else {
		q.add("NULL")
	}
}

// dropLost takes out the items whose requests are not RUNNING under their epoch,
// and refuses them unless they say what happened already.
func (r *report) dropLost(ctx context.Context, items []*reportItem) ([]*reportItem, error) {
	type row struct {
		state proto.State
		epoch uint64
		stop  bool
	}
	now := make(map[string]row, len(items))
	err := chunks(items, func(items []*reportItem) error {
		ids := make([]string, len(items))
		for i, it := range items {
			ids[i] = it.RequestID
		}
		return r.s.do(ctx, "save report", func(ctx context.Context, _ int) error {
			q := r.s.q("SELECT request_id, state, epoch, stop_requested_at IS NOT NULL FROM requests WHERE request_id IN ").ids(ids)
			return q.rows(ctx, r.s.write, func(scan func(...any) error) error {
				var id string
				var x row
				err := scan(&id, &x.state, &x.epoch, &x.stop)
				now[id] = x
				return err
			})
		})
	})
	if err != nil {
		return nil, err
	}
	var live []*reportItem
	for _, it := range items {
		x, ok := now[it.RequestID]
		if ok && x.state == proto.StateRunning && x.epoch == it.Epoch {
			live = append(live, it)
			continue
		}
		if !ok {
			r.refuse(it.ReportItem, "there is no such request")
			continue
		}
		done := x.epoch == it.Epoch && it.target != proto.StateRunning &&
			(x.state == it.target || x.stop && x.state == proto.StateStopped)
		if done {
			if done, err = r.allStored(ctx, it); err != nil {
				return nil, err
			}
		}
		if !done {
			r.refuse(it.ReportItem, "the request is %s under epoch %d, not RUNNING under epoch %d", x.state, x.epoch, it.Epoch)
		}
	}
	return live, nil
}

// allStored reports whether all entries of the item are in the log already.
func (r *report) allStored(ctx context.Context, it *reportItem) (bool, error) {
	stored, err := r.s.storedEntries(ctx, it)
	if err != nil {
		return false, err
	}
	for i := range it.Entries {
		if !stored[it.Entries[i].Seq].same(it, &it.Entries[i]) {
			return false, nil
		}
	}
	return true, nil
}

// dropStored takes out the entries that are in the log already, and refuses items
// in whose place others stand there.
func (r *report) dropStored(ctx context.Context, items []*reportItem) ([]*reportItem, error) {
	var live []*reportItem
next:
	for _, it := range items {
		stored, err := r.s.storedEntries(ctx, it)
		if err != nil {
			return nil, err
		}
		var rows [][]any
		for i := range it.Entries {
			e := &it.Entries[i]
			x, ok := stored[e.Seq]
			if ok && !x.same(it, e) {
				r.refuse(it.ReportItem, "entry %d of the log is try %d of job %s under epoch %d", e.Seq, x.try, x.jobID, x.epoch)
				continue next
			}
			if ok {
				continue
			}
			row, err := entryRow(it.RequestID, it.Epoch, e)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
		it.rows = rows
		live = append(live, it)
	}
	return live, nil
}

// storedEntry is what tells an entry of the log from another.
type storedEntry struct {
	jobID string
	try   uint
	epoch uint64
}

func (x storedEntry) same(it *reportItem, e *proto.JobLog) bool {
	return x == storedEntry{e.JobID, e.Try, it.Epoch}
}

// storedEntries returns the entries of the log in the item's range, by Seq.
func (s *Store) storedEntries(ctx context.Context, it *reportItem) (map[uint64]storedEntry, error) {
	out := map[uint64]storedEntry{}
	if len(it.Entries) == 0 {
		return out, nil
	}
	first, last := it.Entries[0].Seq, it.Entries[len(it.Entries)-1].Seq
	err := s.do(ctx, "save report", func(ctx context.Context, _ int) error {
		return s.q("SELECT seq, job_id, try, epoch FROM job_log WHERE request_id = ? AND seq BETWEEN ? AND ?",
			it.RequestID, first, last).rows(ctx, s.write, func(scan func(...any) error) error {
			var seq uint64
			var x storedEntry
			err := scan(&seq, &x.jobID, &x.try, &x.epoch)
			out[seq] = x
			return err
		})
	})
	return out, err
}
