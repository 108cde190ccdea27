package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// instanceKey is the primary key of an instance.
type instanceKey struct {
	app    string
	number uint64
}

func (f *found) addApp(check, app, format string, args ...any) {
	f.findings = append(f.findings, Finding{Check: check, App: app, Message: fmt.Sprintf(format, args...)})
}

// checkSchedule looks at apps, their instances and their signals.
func (c *checker) checkSchedule(ctx context.Context) error {
	var last instanceKey
	err := c.pages(ctx, func(ctx context.Context, t *database.Tx, f *found) (n int, err error) {
		n, last, err = c.checkInstances(ctx, t, last, f)
		return n, err
	})
	if err != nil {
		return err
	}
	app := ""
	err = c.pages(ctx, func(ctx context.Context, t *database.Tx, f *found) (n int, err error) {
		n, app, err = c.checkApps(ctx, t, app, f)
		return n, err
	})
	if err != nil {
		return err
	}
	f := &found{}
	if err := c.s.db.ReadTx(ctx, "check", func(ctx context.Context, t *database.Tx) error {
		*f = found{}
		return c.checkSignals(ctx, t, f)
	}); err != nil {
		return err
	}
	c.take(f)
	return nil
}

// pages calls check until it has seen less than a page, or enough. A page that is
// read again after the database was away starts where the one before ended.
func (c *checker) pages(ctx context.Context, check func(ctx context.Context, t *database.Tx, f *found) (n int, err error)) error {
	for seen := 0; c.opt.Requests == 0 || seen < c.opt.Requests; {
		var f *found
		var n int
		err := c.s.db.ReadTx(ctx, "check", func(ctx context.Context, t *database.Tx) (err error) {
			f = &found{}
			n, err = check(ctx, t, f)
			return err
		})
		if err != nil {
			return err
		}
		c.take(f)
		if n < checkPage {
			return nil
		}
		seen += n
	}
	return nil
}

// checkInstances looks at the page of live instances after that one, and returns how
// many there are and the last. If it fails, it returns the one before.
func (c *checker) checkInstances(ctx context.Context, t *database.Tx, after instanceKey, f *found) (int, instanceKey, error) {
	now, err := c.s.db.ReadNow(ctx, t)
	if err != nil {
		return 0, after, err
	}
	n, last := 0, after
	q := c.s.db.Query(`SELECT i.app, i.number, i.state, i.recurring, i.next_of IS NOT NULL, i.member, i.started_at,
		n.heartbeat_at, n.gone_at FROM schedule_instances i LEFT JOIN schedule_members n ON n.member_id = i.member
		WHERE i.app >= ? AND (i.app > ? OR i.number > ?) ORDER BY i.app, i.number LIMIT ?`,
		after.app, after.app, after.number, checkPage)
	err = q.Rows(ctx, t, func(scan func(...any) error) error {
		var state proto.InstanceState
		var recurring, next bool
		var member sql.NullString
		var started, heartbeat, gone sql.NullInt64
		if err := scan(&last.app, &last.number, &state, &recurring, &next, &member, &started, &heartbeat, &gone); err != nil {
			return err
		}
		n++
		if want := recurring && state == proto.InstanceQueued; want != next {
			f.addApp(CheckNext, last.app, "instance %d is %s, recurring %v, and known as the next one: %v", last.number, state, recurring, next)
		}
		heard := heartbeat.Int64
		if !heartbeat.Valid {
			heard = started.Int64 // the member was forgotten
		} else if gone.Valid {
			heard = min(heard, gone.Int64)
		}
		if silent := time.Duration(now-heard) * time.Microsecond; member.Valid && silent > c.opt.MemberSilence {
			f.addApp(CheckMember, last.app, `instance %d is claimed by %s, which was last seen %s ago`,
				last.number, member.String, seconds(silent))
		}
		return nil
	})
	if err != nil {
		return 0, after, err
	}
	return n, last, nil
}

// appNumbers is what the row of an app says of its instances, and what there is.
type appNumbers struct {
	name                 string
	last, live, archived uint64
	active               sql.Null[uint64]
	slot                 bool // the instance that has the slot is live
	created              int64
}

// checkApps looks at the page of apps after that one.
func (c *checker) checkApps(ctx context.Context, t *database.Tx, after string, f *found) (int, string, error) {
	var page []appNumbers
	q := c.s.db.Query(`SELECT a.name, a.last_number, a.active_number, a.created_at,
		EXISTS (SELECT 1 FROM schedule_instances i WHERE i.app = a.name AND i.number = a.active_number),
		COALESCE((SELECT MAX(i.number) FROM schedule_instances i WHERE i.app = a.name), 0),
		COALESCE((SELECT MAX(x.number) FROM schedule_archive x WHERE x.app = a.name), 0)
		FROM schedule_apps a WHERE a.name > ? ORDER BY a.name LIMIT ?`, after, checkPage)
	err := q.Rows(ctx, t, func(scan func(...any) error) error {
		var a appNumbers
		err := scan(&a.name, &a.last, &a.active, &a.created, &a.slot, &a.live, &a.archived)
		page = append(page, a)
		return err
	})
	if err != nil || len(page) == 0 {
		return 0, after, err
	}
	purged, err := c.purgedTo(ctx, t)
	if err != nil {
		return 0, after, err
	}
	for _, a := range page {
		if a.active.Valid && !a.slot {
			f.addApp(CheckSlot, a.name, "instance %d has the slot of the app, and is not live", a.active.V)
		}
		newest := max(a.live, a.archived)
		whole := !purged.Valid || purged.Int64 <= a.created
		if newest > a.last || newest < a.last && whole {
			f.addApp(CheckNumbers, a.name, "the newest instance is said to be %d, and is %d", a.last, newest)
			continue
		}
		if whole && c.opt.Requests == 0 {
			if err := c.checkHoles(ctx, t, a, f); err != nil {
				return 0, after, err
			}
		}
	}
	return len(page), page[len(page)-1].name, nil
}

// checkHoles counts the instances of an app.
func (c *checker) checkHoles(ctx context.Context, t *database.Tx, a appNumbers, f *found) error {
	var n uint64
	err := c.s.db.Query(`SELECT (SELECT COUNT(*) FROM schedule_instances WHERE app = ?) + (SELECT COUNT(*)
		FROM schedule_archive WHERE app = ?)`,
		a.name, a.name).Row(ctx, t, &n)
	if err == nil && n != a.last {
		f.addApp(CheckNumbers, a.name, "the newest instance is %d, and there are %d", a.last, n)
	}
	return err
}

// purgedTo returns up to when instances were removed from the archive.
func (c *checker) purgedTo(ctx context.Context, t *database.Tx) (sql.NullInt64, error) {
	var at sql.NullInt64
	err := c.s.db.Query("SELECT purged_to FROM schedule_settings WHERE id = 1").Row(ctx, t, &at)
	if errors.Is(err, ErrNotFound) {
		err = nil
	}
	return at, err
}

// checkSignals looks for signals that are too old.
func (c *checker) checkSignals(ctx context.Context, t *database.Tx, f *found) error {
	now, err := c.s.db.ReadNow(ctx, t)
	if err != nil {
		return err
	}
	return c.s.db.Query(`SELECT app, period_start, created_at FROM schedule_signals{index schedule_signals_created}
		WHERE created_at < ? ORDER BY created_at LIMIT ?`,
		now-c.opt.SignalAge.Microseconds(), c.opt.Findings+1).
		Rows(ctx, t, func(scan func(...any) error) error {
			var app string
			var start, created int64
			if err := scan(&app, &start, &created); err != nil {
				return err
			}
			f.addApp(CheckSignal, app, "nobody has looked for %s whether the period from %s is complete",
				seconds(time.Duration(now-created)*time.Microsecond), database.FromMicros(start).Format(time.RFC3339))
			return nil
		})
}
