package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// PutApp stores an app: it is made, brought back, or its definition is replaced.
// With the same definition and source as before nothing changes. The recurring
// instance that waits moves to the place of First, so that numbers have no hole;
// what runs ends as it began. Since counts only for an app that was not there, or whose times
// change: of one whose times are the same, what waits keeps its period. The
// error is ErrSource if the app is declared elsewhere, ErrAppsChanged if apps are not of
// put.Version any more.
func (s *Store) PutApp(ctx context.Context, put AppPut) (changed bool, err error) {
	if err := put.check(); err != nil {
		return false, err
	}
	for range 3 {
		err = s.db.InTxOnce(ctx, "put app "+put.App.Name, appToken(put.App.Name), func(ctx context.Context, t *database.Tx) error {
			var err error
			changed, err = s.putApp(ctx, t, put)
			return err
		})
		if err == nil || s.db.Dialect.Classify(err) != database.ClassDuplicate {
			break
		}
		// Another call made it just now.
	}
	return changed, err
}

func (p *AppPut) check() error {
	if p.App.Name == "" {
		return proto.Errorf(proto.CodeInvalid, "the app has no name")
	}
	if err := database.CheckName("app", p.App.Name, proto.MaxAppName); err != nil {
		return err
	}
	return database.CheckName("host", p.App.Host, proto.MaxHost)
}

// putState is what a put starts from.
type putState struct {
	definition, source string
	deleted            bool
	app                proto.App // of the definition
	there              bool      // and not deleted
}

// SameTimes reports whether two definitions start at the same times.
func SameTimes(a, b proto.App) bool {
	return a.Every == b.Every && a.Cron == b.Cron && a.Starts == b.Starts && a.Timezone == b.Timezone &&
		a.Jitter == b.Jitter && a.Gap == b.Gap && a.Fold == b.Fold && maps.Equal(a.Depends, b.Depends)
}

// keepsTimes reports whether the app goes on at the times that it had.
func (p *putState) keepsTimes(put AppPut) bool { return p.there && SameTimes(p.app, put.App) }

func (s *Store) putApp(ctx context.Context, t *database.Tx, put AppPut) (changed bool, err error) {
	definition, err := json.Marshal(put.App)
	if err != nil {
		return false, err
	}
	var old putState
	err = s.db.Query(`SELECT definition, source, deleted_at IS NOT NULL FROM schedule_apps WHERE name = ?{lock}`,
		put.App.Name).Row(ctx, t, &old.definition, &old.source, &old.deleted)
	switch {
	case errors.Is(err, ErrNotFound):
		err = s.insertApps(ctx, t, []AppPut{put}, []string{string(definition)}, 0)
	case err != nil:
		return false, err
	case !old.deleted && old.source != put.Source:
		return false, fmt.Errorf("%w: in the %s", ErrSource, old.source)
	case !old.deleted && old.definition == string(definition):
		return false, nil
	default:
		if old.there = !old.deleted; old.there {
			if err := json.Unmarshal([]byte(old.definition), &old.app); err != nil {
				return false, fmt.Errorf("stored definition of app %s: %w", put.App.Name, err)
			}
		}
		err = s.updateApp(ctx, t, put, string(definition), old)
	}
	if err != nil {
		return false, err
	}
	if err := s.countVersion(ctx, t, put.Version); err != nil {
		return false, err
	}
	if err := s.putDepends(ctx, t, put.App); err != nil {
		return false, err
	}
	if !old.keepsTimes(put) {
		if err := s.tellUpstreams(ctx, t, []proto.App{put.App}); err != nil {
			return false, err
		}
	}
	if err := s.addSignals(ctx, t, put.Signals); err != nil {
		return false, err
	}
	return true, s.putNext(ctx, t, put, old.keepsTimes(put))
}

// insertApps makes the rows of new apps, whose newest instance has that number.
func (s *Store) insertApps(ctx context.Context, t *database.Tx, puts []AppPut, definitions []string, lastNumber int) error {
	now, err := s.db.ReadNow(ctx, t)
	if err != nil {
		return err
	}
	rows := make([][]any, len(puts))
	for i, p := range puts {
		last := lastNumber
		if p.First == nil {
			last = 0
		}
		rows[i] = []any{p.App.Name, definitions[i], p.Source, 0, p.First != nil, 1, Bucket(p.App.Name), last,
			p.Since.UnixMicro(), nullTime(p.DeadlineAt), nullTime(p.DeadlineStart), now, now, t.Token}
	}
	return s.db.InsertRows(ctx, t, `INSERT INTO schedule_apps (name, definition, source, paused, recurring, generation, bucket,
		last_number, since, deadline_at, deadline_start, created_at, updated_at, change_token) VALUES`, rows)
}

// updateApp replaces the definition; an app that was deleted is as a new one, but
// for its numbers.
func (s *Store) updateApp(ctx context.Context, t *database.Tx, put AppPut, definition string, old putState) error {
	q := s.db.Query(`UPDATE schedule_apps
		SET change_token = ?, definition = ?, source = ?, recurring = ?, generation = generation + 1, updated_at = {now}`,
		t.Token, definition, put.Source, put.First != nil)
	keeps := old.keepsTimes(put)
	if !keeps {
		q.Add(", since = ?", put.Since.UnixMicro())
	}
	if !keeps || old.app.Deadline != put.App.Deadline {
		q.Add(", deadline_at = ?, deadline_start = ?", nullTime(put.DeadlineAt), nullTime(put.DeadlineStart))
	}
	if old.deleted {
		q.Add(", deleted_at = NULL, paused = 0, created_at = {now}")
	}
	return q.Add(" WHERE name = ?", put.App.Name).ExecOne(ctx, t)
}

func (s *Store) putDepends(ctx context.Context, t *database.Tx, app proto.App) error {
	if _, err := s.db.Query("DELETE FROM schedule_depends WHERE app = ?", app.Name).Exec(ctx, t); err != nil {
		return err
	}
	return s.insertDepends(ctx, t, []proto.App{app})
}

func (s *Store) insertDepends(ctx context.Context, db database.Querier, apps []proto.App) error {
	var rows [][]any
	for _, app := range apps {
		for _, upstream := range slices.Sorted(maps.Keys(app.Depends)) {
			rows = append(rows, []any{upstream, app.Name, app.Depends[upstream]})
		}
	}
	return s.db.InsertRows(ctx, db, "INSERT INTO schedule_depends (upstream, app, period) VALUES", rows)
}

// tellUpstreams makes the upstream apps of these another generation: an instance that
// ends now, and did not see yet who depends on it, looks again.
func (s *Store) tellUpstreams(ctx context.Context, t *database.Tx, apps []proto.App) error {
	names := map[string]bool{}
	for _, app := range apps {
		for name := range app.Depends {
			names[name] = true
		}
	}
	return database.Chunks(slices.Sorted(maps.Keys(names)), func(names []string) error {
		_, err := s.db.Query("UPDATE schedule_apps SET generation = generation + 1 WHERE name IN {ids}", names).Exec(ctx, t)
		return err
	})
}

// putNext brings the recurring instance of the app to where First is, unless its times
// are as they were: it may be due already.
func (s *Store) putNext(ctx context.Context, t *database.Tx, put AppPut, keepsTimes bool) error {
	app := put.App.Name
	if put.First == nil {
		return s.archiveQueued(ctx, t, app, true, "the app was changed before it started")
	}
	var waiting, live int
	err := s.db.Query(`SELECT COUNT(next_of), COUNT(*) FROM schedule_instances WHERE app = ? AND recurring = 1`,
		app).Row(ctx, t, &waiting, &live)
	if err != nil {
		return err
	}
	if waiting > 0 && keepsTimes {
		return s.moveHost(ctx, t, app, put.App.Host)
	}
	if waiting > 0 {
		n, err := s.moveQueued(app, put.First).Add(" WHERE next_of = ?", app).Exec(ctx, t)
		if err != nil && s.db.Dialect.Classify(err) == database.ClassDuplicate {
			return s.replaceQueued(ctx, t, app, put.First)
		}
		if err != nil || n > 0 {
			return err
		}
		live++ // it was started in this moment
	}
	if live > 0 && put.App.Overlap != "allow" {
		return nil // the one that runs makes the next one
	}
	err = s.db.Query("UPDATE schedule_apps SET last_number = last_number + 1 WHERE name = ?", app).ExecOne(ctx, t)
	if err != nil {
		return err
	}
	return s.insertNext(ctx, t, app, put.First)
}

// moveHost has the recurring instance that waits run on another host. If it was held,
// for the old one, it is looked at now.
func (s *Store) moveHost(ctx context.Context, t *database.Tx, app, host string) error {
	_, err := s.db.Query(`UPDATE schedule_instances SET sequence_number = sequence_number + 1, host = ?,
		fetch_at = CASE WHEN fetch_at IS NULL OR held = 0 THEN fetch_at ELSE {now} END, held = 0 WHERE next_of = ? AND host <> ?`,
		host, app, host).Exec(ctx, t)
	return err
}

// replaceQueued ends the recurring instance that waits, since another one of the
// period that it was to move to is live, and makes that one the recurring one.
func (s *Store) replaceQueued(ctx context.Context, t *database.Tx, app string, n *NewInstance) error {
	if err := s.archiveQueued(ctx, t, app, true, "another instance took its place before it started"); err != nil {
		return err
	}
	return s.adoptNext(ctx, t, app, n.PeriodStart)
}

// archiveQueued ends instances that wait as FAILED: numbers have no hole.
func (s *Store) archiveQueued(ctx context.Context, t *database.Tx, app string, recurring bool, reason string) error {
	q := s.db.Query("SELECT number FROM schedule_instances WHERE app = ? AND state = ?", app, proto.InstanceQueued)
	if recurring {
		q.Add(" AND recurring = 1")
	}
	numbers, err := q.Add(" ORDER BY number{lock}").Strings(ctx, t)
	if err != nil {
		return err
	}
	return database.Chunks(numbers, func(numbers []string) error {
		q := s.db.Query("INSERT INTO schedule_archive ("+archivedColumns+`, sequence_number, change_token, state, reason, finished_at)
			SELECT `+archivedColumns+`, sequence_number + 1, ?, ?, ?, {now} FROM schedule_instances
			WHERE app = ? AND number IN {ids}`,
			t.Token, proto.InstanceFailed, reason, app, numbers)
		if _, err := q.Exec(ctx, t); err != nil {
			return err
		}
		_, err := s.db.Query("DELETE FROM schedule_instances WHERE app = ? AND number IN {ids}", app, numbers).Exec(ctx, t)
		return err
	})
}

// DeleteApp deletes an app that is declared there. Its instances that wait end as
// FAILED, those that run end as they began; its numbers go on if it comes back. The
// error is ErrNotFound, ErrSource, or ErrAppsChanged if apps are not of that version any
// more; 0 is any.
func (s *Store) DeleteApp(ctx context.Context, name, source string, version uint64) error {
	return s.db.InTxOnce(ctx, "delete app "+name, appToken(name), func(ctx context.Context, t *database.Tx) error {
		var old putState
		err := s.db.Query(`SELECT source, deleted_at IS NOT NULL FROM schedule_apps WHERE name = ?{lock}`,
			name).Row(ctx, t, &old.source, &old.deleted)
		switch {
		case err != nil:
			return err
		case old.deleted:
			return ErrNotFound
		case old.source != source:
			return fmt.Errorf("%w: in the %s", ErrSource, old.source)
		}
		if err := s.countVersion(ctx, t, version); err != nil {
			return err
		}
		err = s.db.Query(`UPDATE schedule_apps SET change_token = ?, generation = generation + 1, deadline_at = NULL, deadline_start = NULL,
			deleted_at = {now}, updated_at = {now} WHERE name = ?`, t.Token, name).ExecOne(ctx, t)
		if err != nil {
			return err
		}
		if err := s.archiveQueued(ctx, t, name, false, "the app was deleted before it started"); err != nil {
			return err
		}
		if _, err := s.db.Query("DELETE FROM schedule_depends WHERE app = ?", name).Exec(ctx, t); err != nil {
			return err
		}
		_, err = s.db.Query("DELETE FROM schedule_signals WHERE app = ?", name).Exec(ctx, t)
		return err
	})
}

// PauseApp keeps the app's instances that wait from starting, or lets them again.
// The error is ErrNotFound.
func (s *Store) PauseApp(ctx context.Context, name string, paused bool) error {
	return s.db.InTx(ctx, "pause app "+name, func(ctx context.Context, t *database.Tx) error {
		var was bool
		err := s.db.Query("SELECT paused FROM schedule_apps WHERE name = ? AND deleted_at IS NULL{lock}", name).Row(ctx, t, &was)
		if err != nil || was == paused {
			return err
		}
		err = s.db.Query("UPDATE schedule_apps SET paused = ?, updated_at = {now} WHERE name = ?", paused, name).ExecOne(ctx, t)
		if err != nil {
			return err
		}
		q := s.db.Query("UPDATE schedule_instances SET sequence_number = sequence_number + 1, held = 0, ")
		if paused {
			q.Add("reason = ?, fetch_at = NULL", ReasonPaused)
		} else {
			q.Add(`reason = CASE WHEN due_at > {now} THEN '' ELSE ? END, fetch_at = CASE WHEN due_at > {now} THEN due_at ELSE {now} END`,
				ReasonWasPaused)
		}
		_, err = q.Add(" WHERE app = ? AND state = ?", name, proto.InstanceQueued).Exec(ctx, t)
		return err
	})
}
