package engine

import (
	"container/list"
	"context"
	"sync"

	"github.com/treadle-run/treadle/request-manager/store"
)

// maxJobs is how many compiled definitions are kept.
const maxJobs = 16_384

// jobs keeps compiled definitions of apps, those used last. One that is kept may be
// old: what is stored under it is stored only if the app is still of its generation.
type jobs struct {
	store *store.Store

	mu     sync.Mutex
	byName map[string]*list.Element
	order  *list.List // of *Job, the one used last in front
}

func newJobs(s *store.Store) *jobs {
	return &jobs{store: s, byName: map[string]*list.Element{}, order: list.New()}
}

// get returns the job of an app, deleted ones too; store.ErrNotFound if there never
// was one.
func (c *jobs) get(ctx context.Context, name string) (*Job, error) {
	if j := c.peek(name); j != nil {
		return j, nil
	}
	row, deleted, err := c.store.AnyApp(ctx, name)
	if err != nil {
		return nil, err
	}
	return c.put(row, deleted)
}

// fresh returns the jobs of apps as the store has them now. Apps that are not there
// are missing.
func (c *jobs) fresh(ctx context.Context, names ...string) (map[string]*Job, error) {
	if len(names) == 0 {
		return nil, nil
	}
	rows, err := c.store.Apps(ctx, names...)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*Job, len(rows))
	for _, row := range rows {
		j, err := c.put(row, false)
		if err != nil {
			return nil, err
		}
		out[row.App.Name] = j
	}
	return out, nil
}

// load makes sure that the jobs of apps are there, with few queries.
func (c *jobs) load(ctx context.Context, names []string) error {
	const batch = 500
	var missing []string
	for _, name := range names {
		if c.peek(name) == nil {
			missing = append(missing, name)
		}
	}
	for len(missing) > 0 {
		n := min(batch, len(missing))
		if _, err := c.fresh(ctx, missing[:n]...); err != nil {
			return err
		}
		missing = missing[n:]
	}
	return nil
}

func (c *jobs) peek(name string) *Job {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byName[name]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*Job)
}

// put compiles a row, unless a job of that generation is there.
func (c *jobs) put(row store.AppRow, deleted bool) (*Job, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byName[row.App.Name]
	var j *Job
	if e != nil && e.Value.(*Job).Generation == row.Generation && e.Value.(*Job).CreatedAt.Equal(row.CreatedAt) {
		j = &Job{AppRow: row, cal: e.Value.(*Job).cal}
	} else {
		var err error
		if j, err = compile(row); err != nil {
			return nil, err
		}
	}
	j.deleted = deleted
	if e != nil {
		e.Value = j
		c.order.MoveToFront(e)
		return j, nil
	}
	c.byName[row.App.Name] = c.order.PushFront(j)
	if c.order.Len() > maxJobs {
		old := c.order.Back()
		delete(c.byName, old.Value.(*Job).App.Name)
		c.order.Remove(old)
	}
	return j, nil
}

func (c *jobs) forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byName[name]; e != nil {
		delete(c.byName, name)
		c.order.Remove(e)
	}
}
