package store

import (
	"context"
	"database/sql"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// checkSuspended looks for SUSPENDED requests that nothing can go on with.
func (c *checker) checkSuspended(ctx context.Context, t *database.Tx, page []*checkRow, f *found) error {
	var ids []string
	for _, r := range page {
		if r.state == proto.StateSuspended {
			ids = append(ids, r.id)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	has := map[string]bool{}
	err := c.s.db.Query("SELECT request_id FROM suspended_job_chains WHERE request_id IN {ids}", ids).
		Rows(ctx, t, func(scan func(...any) error) error {
			var id string
			err := scan(&id)
			has[id] = true
			return err
		})
	if err != nil {
		return err
	}
	for _, id := range ids {
		if !has[id] {
			f.add(CheckNoSJC, id, "it is SUSPENDED and has no suspended job chain")
		}
	}
	return nil
}

// checkSJCs looks at suspended job chains.
func (c *checker) checkSJCs(ctx context.Context) error {
	last := ""
	return c.pages(ctx, func(ctx context.Context, t *database.Tx, f *found) (n int, err error) {
		now, err := c.s.db.ReadNow(ctx, t)
		if err != nil {
			return 0, err
		}
		next := last
		err = c.s.db.Query(`SELECT c.request_id, c.claimed_by, c.claimed_at, r.state FROM suspended_job_chains c
			LEFT JOIN requests r ON r.request_id = c.request_id
			WHERE c.request_id > ? ORDER BY c.request_id LIMIT ?`, last, checkPage).
			Rows(ctx, t, func(scan func(...any) error) error {
				n++
				return c.checkSJC(scan, now, &next, f)
			})
		if err == nil {
			last = next
		}
		return n, err
	})
}

// checkSJC looks at one, and sets id to that of its request.
func (c *checker) checkSJC(scan func(...any) error, now int64, id *string, f *found) error {
	var host sql.NullString
	var claimed, state sql.NullInt64
	if err := scan(id, &host, &claimed, &state); err != nil {
		return err
	}
	if !state.Valid {
		f.add(CheckSJC, *id, "there is a suspended job chain, and no request")
	} else if s := proto.State(state.Int64); s != proto.StateSuspended {
		f.add(CheckSJC, *id, "there is a suspended job chain, and the request is %s", s)
	}
	if age := time.Duration(now-claimed.Int64) * time.Microsecond; host.Valid && age > c.opt.ClaimAge {
		f.add(CheckClaim, *id, "its suspended job chain was claimed by %s %s ago", host.String, seconds(age))
	}
	return nil
}
