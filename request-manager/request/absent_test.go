package request

import (
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// A manager that had not noticed that a runner was forgotten handed a request over to
// it, and died. Nobody is there to say that the runner does not have it.
func TestRequestsOfRunnersThatAreNotRegisteredAreRecovered(t *testing.T) {
	t.Parallel()
	inWorld(t, func(w *world) {
		t := w.t
		m := w.manager()
		w.run(m)
		id := w.create(m, "deploy")
		taken, err := w.store.Dispatch(t.Context(), []store.Handover{{RequestID: id}}, "jr-0", "http://jr-0")
		must(t, err)
		if len(taken) != 1 {
			t.Fatal("not handed over")
		}
		after(64 * time.Second)
		w.want(id, proto.StateRunning) // it may be alive
		after(5 * time.Second)
		w.want(id, proto.StateSuspended)
		w.runner(m, "jr-1", "http://jr-1")
		after(time.Second)
		w.want(id, proto.StateRunning)
	})
}
