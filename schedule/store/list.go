package store

import (
	"context"
	"slices"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

const defaultInstances = 100

var (
	liveStates    = []proto.InstanceState{proto.InstanceQueued, proto.InstanceRunning, proto.InstanceToUndo, proto.InstanceUndoing}
	archiveStates = []proto.InstanceState{proto.InstanceSucceeded, proto.InstanceFailed}
)

// Instances lists instances: first those that are live, the one that is due last
// first, then those that have ended, the newest first.
func (s *Store) Instances(ctx context.Context, f InstanceFilter) ([]proto.Instance, error) {
	if f.Limit == 0 {
		f.Limit = defaultInstances
	}
	var out []proto.Instance
	err := s.db.Do(ctx, "list instances", func(ctx context.Context) error {
		live, err := s.liveInstances(ctx, f)
		if err != nil {
			return err
		}
		skip := min(f.Offset, uint(len(live)))
		out = live[skip:min(uint(len(live)), f.Offset+f.Limit)]
		rest := f.Limit - uint(len(out))
		states := statesOf(f.States, archiveStates)
		if rest == 0 || len(states) == 0 {
			return nil
		}
		done, err := instancesOf(ctx, s.archiveQuery(f, states, rest, f.Offset-skip), s.db.Reader)
		out = append(slices.Clip(out), done...)
		return err
	})
	return out, err
}

// statesOf narrows all to what is asked for: nothing is everything.
func statesOf(asked, all []proto.InstanceState) []proto.InstanceState {
	if len(asked) == 0 {
		return all
	}
	return slices.DeleteFunc(slices.Clone(all), func(x proto.InstanceState) bool { return !slices.Contains(asked, x) })
}

// liveInstances returns the live ones up to the end of the page.
func (s *Store) liveInstances(ctx context.Context, f InstanceFilter) ([]proto.Instance, error) {
	var out []proto.Instance
	for _, state := range statesOf(f.States, liveStates) {
		part, err := instancesOf(ctx, s.liveQuery(f, state), s.db.Reader)
		if err != nil {
			return nil, err
		}
		out = append(out, part...)
	}
	slices.SortStableFunc(out, func(a, b proto.Instance) int { return b.Due.Compare(a.Due) })
	return out[:min(uint(len(out)), f.Offset+f.Limit)], nil
}

func (s *Store) liveQuery(f InstanceFilter, state proto.InstanceState) *database.Query {
	index := "{index schedule_instances_state}"
	switch {
	case f.App != "":
		index = "{index schedule_instances_period}"
	case f.Host != "":
		index = "{index schedule_instances_host}"
	}
	q := addFilter(s.db.Query("SELECT "+liveFull+" FROM schedule_instances"+index+" WHERE state = ?", state), f)
	return q.Add(" ORDER BY due_at DESC LIMIT ?", f.Offset+f.Limit)
}

func (s *Store) archiveQuery(f InstanceFilter, states []proto.InstanceState, limit, offset uint) *database.Query {
	index := "{index schedule_archive_finished}"
	switch {
	case f.App != "":
		index = "{index schedule_archive_app}"
	case f.Host != "":
		index = "{index schedule_archive_host}"
	}
	q := addFilter(s.db.Query("SELECT "+archiveFull+" FROM schedule_archive"+index+" WHERE 1 = 1"), f)
	if len(states) < len(archiveStates) {
		q.Add(" AND state = ?", states[0])
	}
	if !f.Since.IsZero() { // what started since then has not ended before
		q.Add(" AND finished_at >= ?", f.Since.UnixMicro())
	}
	return q.Add(" ORDER BY finished_at DESC LIMIT ? OFFSET ?", limit, offset)
}

// addFilter appends what a filter says of both tables.
func addFilter(q *database.Query, f InstanceFilter) *database.Query {
	if f.App != "" {
		q.Add(" AND app = ?", f.App)
	}
	if f.Host != "" {
		q.Add(" AND host = ?", f.Host)
	}
	if !f.Since.IsZero() {
		q.Add(" AND period_start >= ?", f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		q.Add(" AND period_start < ?", f.Until.UnixMicro())
	}
	return q
}
