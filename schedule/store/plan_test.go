package store

import (
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/internal/database/databasetest"
	"github.com/treadle-run/treadle/proto"
)

// TestDueWorkIsFoundByIndex looks at the plans of what members ask for all the time.
func TestDueWorkIsFoundByIndex(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.put(t, hourly("a"))
		f.put(t, dependent("c", "a"))
		s, day := f.Store, 24*time.Hour
		for name, q := range map[string]*database.Query{
			"due, all buckets": s.dueQuery(hour(0).UnixMicro(), []BucketRange{{0, Buckets}}, 100),
			"due, some":        s.dueQuery(hour(0).UnixMicro(), []BucketRange{{0, 16}, {32, 48}, {1000, 1024}}, 100),
			"stale":            s.claimedByOthers([]string{"m1", "m2"}, 100),
			"nobody lives":     s.claimedByOthers(nil, 100),
			"settled":          s.settledQuery(100),
			"succeeded":        s.succeededQuery("a", hour(0), hour(0).Add(day), 100),
			"live by state":    s.liveQuery(InstanceFilter{Limit: 100}, proto.InstanceRunning),
			"live by app":      s.liveQuery(InstanceFilter{App: "a", Limit: 100}, proto.InstanceRunning),
			"live by host":     s.liveQuery(InstanceFilter{Host: "h", Limit: 100}, proto.InstanceRunning),
			"ended":            s.archiveQuery(InstanceFilter{}, archiveStates, 100, 0),
			"ended by app":     s.archiveQuery(InstanceFilter{App: "a", Since: hour(0)}, archiveStates, 100, 0),
			"ended by host":    s.archiveQuery(InstanceFilter{Host: "h"}, archiveStates[:1], 100, 0),
		} {
			for _, bad := range f.badScheduleSteps(t, q) {
				if name == "live by app" && strings.Contains(bad, "filesort") || name == "live by app" && strings.Contains(bad, "TEMP B-TREE") {
					continue // an app has few that are live
				}
				t.Errorf("%s: %s\n%s", name, bad, q.SQL.String())
			}
		}
	})
}

// badScheduleSteps returns the steps of a plan that look at a whole table or sort it.
func (f *fixture) badScheduleSteps(t *testing.T, q *database.Query) []string {
	t.Helper()
	if f.db.Dialect != &database.SQLiteDialect {
		return databasetest.BadSteps(t, f.db, q)
	}
	rows, err := f.db.Writer.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+q.SQL.String(), q.Args...)
	must(t, err)
	defer rows.Close()
	var bad []string
	for rows.Next() {
		var id, parent, n int
		var detail string
		must(t, rows.Scan(&id, &parent, &n, &detail))
		whole := strings.HasPrefix(detail, "SCAN schedule_") && !strings.Contains(detail, "USING INDEX schedule_archive_finished")
		if whole || strings.HasPrefix(detail, "SCAN a") || strings.HasPrefix(detail, "USE TEMP B-TREE FOR ORDER BY") {
			bad = append(bad, detail)
		}
	}
	must(t, rows.Err())
	return bad
}
