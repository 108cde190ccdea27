package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// reportRaces bounds how often SaveReport starts again because requests changed
// between two of its transactions.
const reportRaces = 10

// SaveReport stores the items of a report, each whole or not at all, in one
// transaction. An item is refused if its request is not RUNNING under its epoch,
// or if the database cannot hold it; the others are stored all the same. A report
// that was stored before is stored again without harm, also where it ended or
// suspended a request.
//
// A request that was to be stopped becomes STOPPED where the item says COMPLETE,
// FAIL or suspended. A request may be in one item only.
//
// The files in the order in which they are used: report_item.go prepares,
// report_move.go updates the requests, report_log.go checks the logs, and where that
// fails report_again.go takes out the items that are in the way.
func (s *Store) SaveReport(ctx context.Context, items []proto.ReportItem) ([]proto.Refusal, error) {
	ready, refused, err := s.prepareReport(items)
	if err != nil {
		return nil, err
	}
	more, err := s.saveReport(ctx, ready)
	if err != nil {
		return nil, err
	}
	return append(refused, more...), nil
}

// saveReport stores items and returns those that it refuses. In the normal case that
// is one transaction. If it is rolled back, the items that are in its way are taken
// out, and it starts again with the rest.
func (s *Store) saveReport(ctx context.Context, items []*reportItem) (refused []proto.Refusal, err error) {
	for range reportRaces {
		if len(items) == 0 {
			return refused, nil
		}
		var grown *grownError
		err := s.saveItems(ctx, items)
		if err == nil {
			return refused, nil
		}
		var more []proto.Refusal
		switch class := s.db.Dialect.Classify(err); {
		case errors.Is(err, errShort):
			items, more, err = s.dropLost(ctx, items)
		case errors.As(err, &grown):
			items, more = dropGrown(items, grown)
			err = nil
		case class == database.ClassDuplicate:
			items, more, err = s.dropStored(ctx, items)
		case class == database.ClassData:
			more, err = s.saveHalves(ctx, items, err)
			items = nil
		}
		if err != nil {
			return nil, err
		}
		refused = append(refused, more...)
	}
	if len(items) == 0 {
		return refused, nil
	}
	return nil, fmt.Errorf("save report: %w", errStateChanged)
}

// saveHalves stores items of which the database cannot hold one, half by half: the
// one that is left alone is refused.
func (s *Store) saveHalves(ctx context.Context, items []*reportItem, why error) ([]proto.Refusal, error) {
	if len(items) == 1 {
		return []proto.Refusal{refusal(items[0].ReportItem, "the database cannot hold it: %v", why)}, nil
	}
	half := len(items) / 2
	first, err := s.saveReport(ctx, items[:half])
	if err != nil {
		return nil, err
	}
	second, err := s.saveReport(ctx, items[half:])
	return append(first, second...), err
}

// saveItems stores all items or none.
func (s *Store) saveItems(ctx context.Context, items []*reportItem) error {
	return s.db.InTx(ctx, "save report", func(ctx context.Context, t *database.Tx) error {
		if err := database.Chunks(items, func(items []*reportItem) error { return s.moveRequests(ctx, t, items) }); err != nil {
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
		if err := s.db.InsertRows(ctx, t, insertEntry, rows); err != nil {
			return err
		}
		if err := s.checkLogs(ctx, t, items); err != nil {
			return err
		}
		return s.insertSJCs(ctx, t, suspended, time.Time{})
	})
}
