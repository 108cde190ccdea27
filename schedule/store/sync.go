package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// PutApps is PutApp for many apps, and quick where they are new or as they were. Each
// is stored by itself: the error joins those of the apps that could not be. Versions do
// not count here.
func (s *Store) PutApps(ctx context.Context, puts []AppPut) (changed int, err error) {
	var errs []error
	err = database.Chunks(puts, func(puts []AppPut) error {
		fresh, rest, err := s.sortPuts(ctx, puts)
		if err != nil {
			return err
		}
		if err := s.insertMany(ctx, fresh); err == nil {
			changed += len(fresh)
		} else if ctx.Err() != nil || errors.Is(err, ErrUnavailable) {
			return err
		} else {
			rest = append(rest, fresh...) // one by one says which one it is
		}
		for _, put := range rest {
			put.Version = 0
			did, err := s.PutApp(ctx, put)
			if ctx.Err() != nil || errors.Is(err, ErrUnavailable) {
				return err
			}
			if err != nil {
				errs = append(errs, err)
			} else if did {
				changed++
			}
		}
		return nil
	})
	return changed, errors.Join(append(errs, err)...)
}

// sortPuts sets apart what is new and what may have changed.
func (s *Store) sortPuts(ctx context.Context, puts []AppPut) (fresh, rest []AppPut, err error) {
	there := map[string]putState{}
	names := make([]string, len(puts))
	for i, p := range puts {
		names[i] = p.App.Name
	}
	err = s.db.Do(ctx, "put apps", func(ctx context.Context) error {
		return s.db.Query(`SELECT name, definition, source, deleted_at IS NOT NULL FROM schedule_apps WHERE name IN {ids}`, names).
			Rows(ctx, s.db.Reader, func(scan func(...any) error) error {
				var name string
				var old putState
				err := scan(&name, &old.definition, &old.source, &old.deleted)
				there[name] = old
				return err
			})
	})
	if err != nil {
		return nil, nil, err
	}
	for _, p := range puts {
		definition, err := json.Marshal(p.App)
		if err != nil {
			return nil, nil, fmt.Errorf("app %s: %w", p.App.Name, err)
		}
		old, ok := there[p.App.Name]
		switch {
		case !ok:
			fresh = append(fresh, p)
		case !old.deleted && old.source == p.Source && old.definition == string(definition):
		default:
			rest = append(rest, p)
		}
	}
	return fresh, rest, nil
}

// insertMany makes apps that are not there, with their first instances.
func (s *Store) insertMany(ctx context.Context, puts []AppPut) error {
	if len(puts) == 0 {
		return nil
	}
	definitions := make([]string, len(puts))
	apps := make([]proto.App, len(puts))
	for i, p := range puts {
		if err := p.check(); err != nil {
			return err
		}
		definition, err := json.Marshal(p.App)
		if err != nil {
			return err
		}
		definitions[i], apps[i] = string(definition), p.App
	}
	return s.db.InTxOnce(ctx, "put new apps", appToken(puts[0].App.Name), func(ctx context.Context, t *database.Tx) error {
		if err := s.insertApps(ctx, t, puts, definitions, 1); err != nil {
			return err
		}
		if err := s.insertDepends(ctx, t, apps); err != nil {
			return err
		}
		if err := s.tellUpstreams(ctx, t, apps); err != nil {
			return err
		}
		if err := s.countVersion(ctx, t, 0); err != nil {
			return err
		}
		return s.insertFirst(ctx, t, puts)
	})
}

// insertFirst makes the first instances of apps that are new.
func (s *Store) insertFirst(ctx context.Context, t *database.Tx, puts []AppPut) error {
	now, err := s.db.ReadNow(ctx, t)
	if err != nil {
		return err
	}
	var rows [][]any
	for _, p := range puts {
		n := p.First
		if n == nil {
			continue
		}
		if err := database.CheckName("instance", n.Name, maxInstance); err != nil {
			return err
		}
		rows = append(rows, []any{p.App.Name, 1, n.Name, n.PeriodStart.UnixMicro(), n.PeriodEnd.UnixMicro(), 0,
			Bucket(p.App.Name), proto.InstanceQueued, 1, true, p.App.Name, n.Due.UnixMicro(), n.fetchAt(), n.Host,
			now, 0, 0, database.CleanReason(n.Reason), nullJSON(n.Conf)})
	}
	return s.db.InsertRows(ctx, t, `INSERT INTO schedule_instances (app, number, name, period_start, period_end, run,
		bucket, state, sequence_number, recurring, next_of, due_at, fetch_at, host, created_at, undo_tries, held, reason, conf) VALUES`,
		rows)
}
