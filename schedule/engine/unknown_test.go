package engine

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// olderSpecs are those of a member that does not know request "new" and undo "newundo".
type olderSpecs struct{ *world }

func (o olderSpecs) Unknown(app proto.App, in proto.Instance) string {
	if app.Request == "new" && in.State < proto.InstanceToUndo {
		return "request new"
	}
	if app.Undo == "newundo" && in.State >= proto.InstanceToUndo {
		return "request newundo"
	}
	return ""
}

func (o olderSpecs) Run(ctx context.Context, app proto.App, in proto.Instance) (Outcome, error) {
	if app.Request == "new" {
		return Outcome{Done: true, Reason: "unknown request type"}, nil
	}
	return o.world.Run(ctx, app, in)
}

func (o olderSpecs) Undo(ctx context.Context, app proto.App, in proto.Instance) (Outcome, error) {
	if app.Undo == "newundo" {
		o.t.Errorf("%s is undone by a member that does not know how", in.Name)
	}
	return o.world.Undo(ctx, app, in)
}

func older(c *Config) { c.Hook = olderSpecs{c.Hook.(*world)} }

// While members with new specs come, those with old ones leave new apps to them, in
// whatever state their instances are.
func TestMembersWithOlderSpecsLeaveNewApps(t *testing.T) {
	t.Parallel()
	for name, does := range map[string]func(proto.Instance) (Outcome, error){
		"they end well": nil,
		"they wait in between": func(in proto.Instance) (Outcome, error) {
			if time.Since(*in.StartedAt) < 2*time.Minute {
				return Outcome{}, errNow
			}
			return ok(in), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inWorld(t, func(w *world) {
				m1, m2 := w.engine("m1", brisk, older), w.engine("m2", brisk)
				for i := range 12 {
					app := proto.App{Name: fmt.Sprintf("app%02d", i), Request: "new", Undo: "newundo", Every: proto.Duration(8 * time.Minute)}
					w.do(app.Name, does)
					w.put(m1, app)
				}
				w.put(m1, proto.App{Name: "known", Request: "x", Every: proto.Duration(8 * time.Minute)})
				w.run(m1)
				w.run(m2)
				at(14 * time.Minute)
				for i := range 12 {
					w.wantStates(fmt.Sprintf("app%02d", i), map[string]string{"2000-01-01-0008": "SUCCEEDED"})
				}
				w.wantStates("known", map[string]string{"2000-01-01-0008": "SUCCEEDED"})
			})
		})
	}
}

// Where no member knows the request, instances wait and say so. They run once one
// comes that does.
func TestNoMemberKnowsTheRequest(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		e := w.engine("m1", brisk, older)
		w.put(e, proto.App{Name: "app", Request: "new", Cron: "1 0 * * *"})
		w.run(e)
		at(time.Minute + 28*time.Second)
		if in := w.instances("app")[0]; in.Reason != "" || in.Sequence != 1 {
			w.t.Errorf("after 28 s it was touched: %+v", in)
		}
		at(11 * time.Minute)
		in := w.instances("app")[0]
		if in.State != proto.InstanceQueued || !strings.Contains(in.Reason, "no Request Manager that looked knows request new") {
			w.t.Errorf("it is %s: %s", in.State, in.Reason)
		}
		w.run(w.engine("m2", brisk))
		after(3 * time.Minute)
		w.wantStates("app", map[string]string{"2000-01-01-0001": "SUCCEEDED"})
	})
}
