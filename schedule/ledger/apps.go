package ledger

import (
	"container/list"
	"context"
	"sync"
	"time"

	"github.com/treadle-run/treadle/schedule/plan"
	"github.com/treadle-run/treadle/schedule/store"
)

// maxApps is how many compiled definitions are kept.
const maxApps = 16_384

// Apps keeps compiled definitions of apps, those used last. One that is kept may be
// old: what is stored under it is stored only if the app is still of its generation.
type Apps struct {
	store *store.Store

	mu     sync.Mutex
	byName map[string]*list.Element
	order  *list.List // of *kept, the one used last in front
}

// kept is a compiled definition, and when its app was made: one that was deleted and made
// again counts its generations anew.
type kept struct {
	app       *plan.App
	createdAt time.Time
}

func (k *kept) same(row store.AppRow) bool {
	return k.app.Generation == row.Generation && k.createdAt.Equal(row.CreatedAt)
}

// Compile returns the compiled definition of a row. The error has CodeInvalid.
func Compile(row store.AppRow) (*plan.App, error) {
	return plan.Compile(row.App, row.Since, row.Generation)
}

// NewApps returns an empty cache over a store.
func NewApps(s *store.Store) *Apps {
	return &Apps{store: s, byName: map[string]*list.Element{}, order: list.New()}
}

// Get returns an app, deleted ones too; store.ErrNotFound if there never
// was one.
func (c *Apps) Get(ctx context.Context, name string) (*plan.App, error) {
	if a := c.peek(name); a != nil {
		return a, nil
	}
	row, deleted, err := c.store.AppIncludingDeleted(ctx, name)
	if err != nil {
		return nil, err
	}
	return c.put(row, deleted)
}

// Fresh returns apps as the store has them now. Apps that are not there
// are missing.
func (c *Apps) Fresh(ctx context.Context, names ...string) (map[string]*plan.App, error) {
	if len(names) == 0 {
		return nil, nil
	}
	rows, err := c.store.Apps(ctx, names...)
	if err != nil {
		return nil, err
	}
	out := make(map[string]*plan.App, len(rows))
	for _, row := range rows {
		a, err := c.put(row, false)
		if err != nil {
			return nil, err
		}
		out[row.App.Name] = a
	}
	return out, nil
}

// Load makes sure that apps are kept, with few queries.
func (c *Apps) Load(ctx context.Context, names []string) error {
	const batch = 500
	var missing []string
	for _, name := range names {
		if c.peek(name) == nil {
			missing = append(missing, name)
		}
	}
	for len(missing) > 0 {
		n := min(batch, len(missing))
		if _, err := c.Fresh(ctx, missing[:n]...); err != nil {
			return err
		}
		missing = missing[n:]
	}
	return nil
}

func (c *Apps) peek(name string) *plan.App {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byName[name]
	if e == nil {
		return nil
	}
	c.order.MoveToFront(e)
	return e.Value.(*kept).app
}

// put compiles a row, unless it has the calendar of that generation.
func (c *Apps) put(row store.AppRow, deleted bool) (*plan.App, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e := c.byName[row.App.Name]
	var a *plan.App
	if e != nil && e.Value.(*kept).same(row) {
		a = &plan.App{Def: row.App, Since: row.Since, Generation: row.Generation, Calendar: e.Value.(*kept).app.Calendar}
	} else {
		var err error
		if a, err = Compile(row); err != nil {
			return nil, err
		}
	}
	a.Deleted = deleted
	k := &kept{app: a, createdAt: row.CreatedAt}
	if e != nil {
		e.Value = k
		c.order.MoveToFront(e)
		return a, nil
	}
	c.byName[row.App.Name] = c.order.PushFront(k)
	if c.order.Len() > maxApps {
		old := c.order.Back()
		delete(c.byName, old.Value.(*kept).app.Def.Name)
		c.order.Remove(old)
	}
	return a, nil
}

// Forget has the app read again when it is asked for next.
func (c *Apps) Forget(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e := c.byName[name]; e != nil {
		delete(c.byName, name)
		c.order.Remove(e)
	}
}
