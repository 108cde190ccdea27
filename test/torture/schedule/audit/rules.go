package audit

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// rule is a query that finds nothing as long as all is well. It has three
// parameters: the bounds of the names of apps, and since when what was archived is
// looked at. Its rows are an app, a number, and what to say of it.
type rule struct {
	name  string
	query string
}

// early is by how much the start of an instance may be before it is due: members ask
// the database for the time once, and go by their own clock from there.
const early = 100_000

func rules(artifacts string) []rule {
	all := []rule{
		{"success without artifact", `SELECT r.app, r.number, 'SUCCEEDED' FROM schedule_archive r
			LEFT JOIN $artifacts a ON a.app = r.app AND a.number = r.number
			WHERE r.app >= ? AND r.app < ? AND r.finished_at >= ? AND r.state = 5 AND COALESCE(a.present, 0) = 0`},
		{"failure with artifact", `SELECT r.app, r.number, 'FAILED' FROM schedule_archive r
			LEFT JOIN $artifacts a ON a.app = r.app AND a.number = r.number
			WHERE r.app >= ? AND r.app < ? AND r.finished_at >= ? AND r.state = 6 AND COALESCE(a.present, 0) = 1`},
		{"artifact without success", `SELECT a.app, a.number, 'no such instance' FROM $artifacts a
			LEFT JOIN schedule_archive r ON r.app = a.app AND r.number = a.number
			LEFT JOIN schedule_instances i ON i.app = a.app AND i.number = a.number
			WHERE a.app >= ? AND a.app < ? AND 0 <= ? AND a.present = 1 AND r.app IS NULL AND i.app IS NULL`},
		{"both live and archived", `SELECT i.app, i.number, 'is in both tables' FROM schedule_instances i
			JOIN schedule_archive r ON r.app = i.app AND r.number = i.number
			WHERE i.app >= ? AND i.app < ? AND 0 <= ?`},
		{"artifact of an instance that has not started", `SELECT i.app, i.number, 'QUEUED' FROM schedule_instances i
			JOIN $artifacts a ON a.app = i.app AND a.number = i.number
			WHERE i.app >= ? AND i.app < ? AND 0 <= ? AND i.state = 1`},
		{"a period has two instances", `SELECT r.app, MAX(r.number), CONCAT('period of ', r.period_start) FROM schedule_archive r
			WHERE r.app >= ? AND r.app < ? AND r.finished_at >= ? GROUP BY r.app, r.period_start HAVING COUNT(*) > 1`},
		{"a period has two instances, one of them live", `SELECT i.app, i.number, CONCAT('period of ', i.period_start) FROM schedule_instances i
			JOIN schedule_archive r ON r.app = i.app AND r.period_start = i.period_start
			WHERE i.app >= ? AND i.app < ? AND 0 <= ?`},
		{"two instances that come next", `SELECT i.app, MAX(i.number), 'there are more' FROM schedule_instances i
			WHERE i.app >= ? AND i.app < ? AND 0 <= ? AND i.recurring = 1 AND i.state = 1 GROUP BY i.app HAVING COUNT(*) > 1`},
		{"archived and not over", `SELECT r.app, r.number, CONCAT('state ', r.state) FROM schedule_archive r
			WHERE r.app >= ? AND r.app < ? AND r.finished_at >= ? AND (r.state NOT IN (5, 6) OR r.started_at IS NULL OR r.started_at > r.finished_at)`},
		{"started before it was due", `SELECT r.app, r.number, CONCAT('by microseconds: ', r.due_at - r.started_at) FROM schedule_archive r
			WHERE r.app >= ? AND r.app < ? AND r.finished_at >= ? AND r.started_at < r.due_at - ` + fmt.Sprint(early)},
		{"hole in the numbers", `SELECT name, last_number, CONCAT('instances: ', n, ', the last: ', last) FROM (
				SELECT s.name, s.last_number,
					(SELECT COUNT(*) FROM schedule_archive r WHERE r.app = s.name) + (SELECT COUNT(*) FROM schedule_instances i WHERE i.app = s.name) AS n,
					CASE WHEN (SELECT COALESCE(MAX(r.number), 0) FROM schedule_archive r WHERE r.app = s.name) > (SELECT COALESCE(MAX(i.number), 0) FROM schedule_instances i WHERE i.app = s.name)
						THEN (SELECT MAX(r.number) FROM schedule_archive r WHERE r.app = s.name)
						ELSE (SELECT COALESCE(MAX(i.number), 0) FROM schedule_instances i WHERE i.app = s.name) END AS last
				FROM schedule_apps s WHERE s.name >= ? AND s.name < ? AND 0 <= ?) counted
			WHERE n <> last_number OR last <> last_number`},
	}
	for i := range all {
		all[i].query = strings.ReplaceAll(all[i].query, "$artifacts", artifacts)
	}
	return all
}

// checkRules runs all rules in a snapshot.
func (a *Audit) checkRules(ctx context.Context, tx *sql.Tx, since int64) error {
	for _, r := range a.rules {
		if err := a.checkRule(ctx, tx, r, since); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}

func (a *Audit) checkRule(ctx context.Context, tx *sql.Tx, r rule, since int64) error {
	from, to := a.between()
	rows, err := tx.QueryContext(ctx, r.query, from, to, since)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var k key
		var what string
		if err := rows.Scan(&k.app, &k.number, &what); err != nil {
			return err
		}
		a.cfg.Found.Add(r.name, "%s: %s%s", k, what, a.trace.story(k))
	}
	return rows.Err()
}
