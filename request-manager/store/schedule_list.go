package store

import (
	"context"
	"slices"

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
	err := s.do(ctx, "list instances", func(ctx context.Context, _ int) error {
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
		done, err := s.archiveQuery(f, states, rest, f.Offset-skip).instances(ctx, s.read)
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
		part, err := s.liveQuery(f, state).instances(ctx, s.read)
		if err != nil {
			return nil, err
		}
		out = append(out, part...)
	}
	slices.SortStableFunc(out, func(a, b proto.Instance) int { return b.Due.Compare(a.Due) })
	return out[:min(uint(len(out)), f.Offset+f.Limit)], nil
}

func (s *Store) liveQuery(f InstanceFilter, state proto.InstanceState) *query {
	index := s.dialect.useIndex("schedule_instances_state")
	switch {
	case f.App != "":
		index = s.dialect.useIndex("schedule_instances_period")
	case f.Host != "":
		index = s.dialect.useIndex("schedule_instances_host")
	}
	q := s.q("SELECT "+liveFull+" FROM schedule_instances"+index+" WHERE state = ?", state).narrow(f)
	return q.add(" ORDER BY due_at DESC LIMIT ?", f.Offset+f.Limit)
}

func (s *Store) archiveQuery(f InstanceFilter, states []proto.InstanceState, limit, offset uint) *query {
	index := s.dialect.useIndex("schedule_archive_finished")
	switch {
	case f.App != "":
		index = s.dialect.useIndex("schedule_archive_app")
	case f.Host != "":
		index = s.dialect.useIndex("schedule_archive_host")
	}
	q := s.q("SELECT " + archiveFull + " FROM schedule_archive" + index + " WHERE 1 = 1").narrow(f)
	if len(states) < len(archiveStates) {
		q.add(" AND state = ?", states[0])
	}
	if !f.Since.IsZero() { // what started since then has not ended before
		q.add(" AND finished_at >= ?", f.Since.UnixMicro())
	}
	return q.add(" ORDER BY finished_at DESC LIMIT ? OFFSET ?", limit, offset)
}

// narrow appends what a filter says of both tables.
func (q *query) narrow(f InstanceFilter) *query {
	if f.App != "" {
		q.add(" AND app = ?", f.App)
	}
	if f.Host != "" {
		q.add(" AND host = ?", f.Host)
	}
	if !f.Since.IsZero() {
		q.add(" AND period_start >= ?", f.Since.UnixMicro())
	}
	if !f.Until.IsZero() {
		q.add(" AND period_start < ?", f.Until.UnixMicro())
	}
	return q
}
