package store

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// Every list is read from an index in the order in which it is returned, so that
// its cost depends on offset and limit, not on the number of requests. Each
// statement names its index: the one that narrows the list most, and that has
// created_at and request_id after what it narrows by. The indexes on user and type
// end with what they are often narrowed by as well, so that such a list that finds
// little looks at the index alone.

// FindRequests returns the requests that pass the filter, newest first, then by
// id, without args and job chains.
func (s *Store) FindRequests(ctx context.Context, f proto.RequestFilter) ([]proto.Request, error) {
	if strings.HasSuffix(f.Type, " ") || strings.HasSuffix(f.User, " ") {
		return nil, nil // no stored name does, but MySQL compares without them
	}
	var out []proto.Request
	err := s.db.Do(ctx, "find requests", func(ctx context.Context) error {
		args, err := s.orderArgs(ctx, f.Args)
		if err != nil {
			return err
		}
		l := &list{s: s, f: f, args: args}
		if f.Since.IsZero() {
			out, err = l.page(ctx, l.branches(), f.Limit, f.Offset)
		} else {
			out, err = l.since(ctx)
		}
		return err
	})
	return out, err
}

// argFilter is an arg that must have a value.
type argFilter struct {
	name string
	hash []byte
}

// argProbe is how far the requests with an arg are counted, to start with the
// rarest.
const argProbe = 1000

// orderArgs returns the args to filter by, the rarest first.
func (s *Store) orderArgs(ctx context.Context, args map[string]string) ([]argFilter, error) {
	var out []argFilter
	counts := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		a := argFilter{name, valueHash(args[name])}
		out = append(out, a)
		if len(args) == 1 {
			break
		}
		var n int
		err := s.db.Query(`SELECT COUNT(*) FROM (SELECT 1 FROM request_args{index request_args_value}
			WHERE name = ? AND value_hash = ? LIMIT ?) x`,
			a.name, a.hash, argProbe).Row(ctx, s.db.Reader, &n)
		if err != nil {
			return nil, err
		}
		counts[name] = n
	}
	slices.SortStableFunc(out, func(a, b argFilter) int { return counts[a.name] - counts[b.name] })
	return out, nil
}

// list is one call of FindRequests.
type list struct {
	s    *Store
	f    proto.RequestFilter
	args []argFilter
}

// branch is a part of a list: all that one range of an index has of it. The parts
// of a list do not overlap.
type branch struct {
	// states, if not nil, narrows the list; if indexed, by the index on state.
	states []proto.State
	index  string
	// first says what the index is narrowed by, of requests as r.
	first database.Fragment
	// byArg says that the index is the one of args, narrowed by the first arg.
	byArg bool
	// before and after bound created_at, in microseconds; 0 does not.
	before, after int64
}

// branches returns the parts of the list without Since.
func (l *list) branches() []branch {
	b := branch{states: l.f.States}
	if !l.f.Until.IsZero() {
		b.before = l.f.Until.UnixMicro()
	}
	// Few requests are not final: by their states is the shortest way, else by
	// state only if there is nothing better.
	byState := len(l.f.States) > 0 && !slices.ContainsFunc(l.f.States, proto.State.Final)
	switch {
	case !byState && len(l.args) > 0:
		b.byArg, b.index = true, "request_args_value"
	case !byState && l.f.User != "":
		b.index, b.first = "requests_user", func(q *database.Query) { q.Add("r.user = ?", l.f.User) }
	case !byState && l.f.Type != "":
		b.index, b.first = "requests_type", func(q *database.Query) { q.Add("r.type = ?", l.f.Type) }
	case len(l.f.States) > 0:
		var out []branch
		for _, state := range uniqueStates(l.f.States) {
			part := b
			part.states = nil
			part.index, part.first = "requests_state", func(q *database.Query) { q.Add("r.state = ?", state) }
			out = append(out, part)
		}
		return out
	default:
		b.index = "requests_created"
	}
	return []branch{b}
}

func uniqueStates(states []proto.State) []proto.State {
	return slices.Compact(slices.Sorted(slices.Values(states)))
}

// since returns a list with Since. What was created since then is on it, and
// newest; only if that does not fill the page, the older requests are looked at
// that finished since, or have not finished: few, or the page would be full.
func (l *list) since(ctx context.Context) ([]proto.Request, error) {
	newer := l.newer()
	out, err := l.page(ctx, newer, l.f.Limit, l.f.Offset)
	if err != nil || (l.f.Limit > 0 && uint(len(out)) == l.f.Limit) {
		return out, err
	}
	limit, offset := l.f.Limit, l.f.Offset
	if limit > 0 {
		limit -= uint(len(out))
		if offset > 0 && len(out) == 0 {
			n, err := l.count(ctx, newer, offset)
			if err != nil {
				return nil, err
			}
			offset -= n
		} else {
			offset = 0
		}
	}
	rest, err := l.page(ctx, l.older(), limit, offset)
	return append(out, rest...), err
}

// older returns the parts of a list with Since that were created before it.
func (l *list) older() []branch {
	since := l.f.Since.UnixMicro()
	before := since + 1
	if !l.f.Until.IsZero() {
		before = min(before, l.f.Until.UnixMicro())
	}
	b := branch{states: l.f.States, index: "requests_finished", before: before}
	finished, unfinished := b, b
	finished.first = func(q *database.Query) { q.Add("r.finished_at > ?", since) }
	unfinished.first = func(q *database.Query) { q.Add("r.finished_at IS NULL") }
	return []branch{finished, unfinished}
}

// newer returns the parts that were created after Since.
func (l *list) newer() []branch {
	branches := l.branches()
	for i := range branches {
		branches[i].after = l.f.Since.UnixMicro()
	}
	return branches
}

// page reads a part of the list that the branches make up.
func (l *list) page(ctx context.Context, branches []branch, limit, offset uint) ([]proto.Request, error) {
	var out []proto.Request
	err := l.pageQuery(branches, limit, offset).Rows(ctx, l.s.db.Reader, func(scan func(...any) error) error {
		r, err := scanRequest(scan)
		out = append(out, r)
		return err
	})
	return out, err
}

// pageQuery gets the ids from an index that has all that is needed to choose and
// order them; only the rows of the page are read whole.
func (l *list) pageQuery(branches []branch, limit, offset uint) *database.Query {
	q := l.s.db.Query("SELECT " + requestColumns + " FROM (")
	l.ids(q, branches, limit, offset)
	return q.Add(") page {join} requests r ON r.request_id = page.id ORDER BY page.at DESC, page.id")
}

// count counts what the branches make up, to at most limit.
func (l *list) count(ctx context.Context, branches []branch, limit uint) (uint, error) {
	q := l.s.db.Query("SELECT COUNT(*) FROM (")
	l.ids(q, branches, limit, 0)
	var n uint
	err := q.Add(") page").Row(ctx, l.s.db.Reader, &n)
	return n, err
}

// ids appends a SELECT of the ids of a page and their created_at, as at.
func (l *list) ids(q *database.Query, branches []branch, limit, offset uint) {
	if len(branches) == 1 {
		l.branch(q, branches[0])
		addLimit(q, limit, offset)
		return
	}
	q.Add("SELECT id, at FROM (")
	for i, b := range branches {
		if i > 0 {
			q.Add(" UNION ALL ")
		}
		// Each part in parentheses of its own: SQLite knows ORDER BY there only in a
		// subquery.
		q.Add("SELECT id, at FROM (")
		l.branch(q, b)
		if limit > 0 {
			addLimit(q, limit+offset, 0)
		}
		q.Add(") part" + strconv.Itoa(i))
	}
	q.Add(") parts ORDER BY at DESC, id")
	addLimit(q, limit, offset)
}

func addLimit(q *database.Query, limit, offset uint) {
	if limit == 0 {
		return
	}
	q.Add(" LIMIT ?", limit)
	if offset > 0 {
		q.Add(" OFFSET ?", offset)
	}
}

// branch appends a SELECT of the ids and times of a branch, in order.
func (l *list) branch(q *database.Query, b branch) {
	from := "r"
	args := l.args
	if b.byArg {
		from, args = "a", l.args[1:]
		q.Add("SELECT a.request_id AS id, a.created_at AS at FROM request_args a{index " + b.index + "}")
		if l.needsRow(b) {
			q.Add(" {join} requests r ON r.request_id = a.request_id")
		}
	} else {
		q.Add("SELECT r.request_id AS id, r.created_at AS at FROM requests r{index " + b.index + "}")
	}
	for i, a := range args {
		alias := "a" + strconv.Itoa(i)
		q.Add(" {join} request_args "+alias+" ON "+alias+".request_id = "+from+".request_id AND "+alias+".name = ? AND "+alias+".value_hash = ?", a.name, a.hash)
	}
	and := " WHERE "
	where := func(text string, args ...any) {
		q.Add(and+text, args...)
		and = " AND "
	}
	if b.byArg {
		where("a.name = ? AND a.value_hash = ?", l.args[0].name, l.args[0].hash)
	} else if b.first != nil {
		where("")
		b.first(q)
	}
	if b.after != 0 {
		where(from+".created_at > ?", b.after)
	}
	if b.before != 0 {
		where(from+".created_at < ?", b.before)
	}
	if l.f.User != "" && b.index != "requests_user" {
		where("r.user = ?", l.f.User)
	}
	if l.f.Type != "" && b.index != "requests_type" {
		where("r.type = ?", l.f.Type)
	}
	if len(b.states) > 0 {
		where("r.state IN (?", b.states[0])
		for _, state := range b.states[1:] {
			q.Add(",?", state)
		}
		q.Add(")")
	}
	q.Add(" ORDER BY " + from + ".created_at DESC, " + from + ".request_id")
}

// needsRow reports whether a branch by arg must look at the requests themselves.
func (l *list) needsRow(b branch) bool {
	return l.f.User != "" || l.f.Type != "" || len(b.states) > 0
}
