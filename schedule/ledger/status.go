package ledger

import (
	"context"
	"errors"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/store"
)

// Apps returns the apps by name, those after the given name, at most limit (1,000 if
// 0). They are without Next and Last.
func (l *Ledger) Apps(ctx context.Context, after string, limit int) ([]proto.AppStatus, error) {
	rows, err := l.store.AppsAfter(ctx, after, limited(limit, maxList))
	if err != nil {
		return nil, ForUser(err, "")
	}
	problems, err := l.Problems(ctx, rows)
	if err != nil {
		return nil, ForUser(err, "")
	}
	out := make([]proto.AppStatus, len(rows))
	if len(rows) == 0 {
		return out, nil
	}
	running, err := l.store.RunningInstances(ctx, after, rows[len(rows)-1].App.Name)
	if err != nil {
		return nil, ForUser(err, "")
	}
	for i, row := range rows {
		out[i] = statusOf(row)
		out[i].Problem, out[i].Running = problems[row.App.Name], running[row.App.Name]
	}
	return out, nil
}

func statusOf(row store.AppRow) proto.AppStatus {
	return proto.AppStatus{App: row.App, Source: row.Source, Paused: row.Paused, Since: row.Since}
}

// App returns an app and how it stands.
func (l *Ledger) App(ctx context.Context, name string) (proto.AppStatus, error) {
	row, err := l.store.App(ctx, name)
	if err != nil {
		return proto.AppStatus{}, ForUser(err, name)
	}
	problems, err := l.Problems(ctx, []store.AppRow{row})
	if err != nil {
		return proto.AppStatus{}, ForUser(err, name)
	}
	out := statusOf(row)
	out.Problem = problems[name]
	live, err := l.store.Instances(ctx, store.InstanceFilter{App: name, Limit: maxList, States: []proto.InstanceState{
		proto.InstanceQueued, proto.InstanceRunning, proto.InstanceToUndo, proto.InstanceUndoing}})
	if err != nil {
		return out, ForUser(err, name)
	}
	for _, in := range live {
		if in.State != proto.InstanceQueued {
			out.Running++
		} else if out.Next == nil || in.Due.Before(out.Next.Due) {
			out.Next = &in
		}
	}
	ended, err := l.store.Instances(ctx, store.InstanceFilter{App: name, Limit: 1, States: []proto.InstanceState{
		proto.InstanceSucceeded, proto.InstanceFailed}})
	if err != nil {
		return out, ForUser(err, name)
	}
	if len(ended) > 0 {
		out.Last = &ended[0]
	}
	return out, nil
}

// ForUser turns an error of the store into one for the user. name is that of the app.
func ForUser(err error, name string) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*proto.Error](err); ok {
		return err
	}
	if e := store.ForUser(err); e != nil {
		return e
	}
	e := &proto.Error{Code: proto.CodeInternal, Message: "internal error", Err: err}
	switch {
	case errors.Is(err, store.ErrNotFound):
		e.Code, e.Message = proto.CodeNotFound, "no app "+name
	case errors.Is(err, store.ErrSource):
		e.Code, e.Message = proto.CodeConflict, "app "+name+" is declared in the specs: change it there"
	case errors.Is(err, store.ErrStaleApp), errors.Is(err, store.ErrNotUpdated):
		e.Code, e.Message = proto.CodeConflict, "app "+name+" was changed at the same time; try again"
	case errors.Is(err, store.ErrAppsChanged):
		e.Code, e.Message, e.RetryAfter = proto.CodeUnavailable, "other apps keep being changed at the same time; try again", time.Second
	}
	return e
}
