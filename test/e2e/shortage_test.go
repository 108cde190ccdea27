//go:build linux

package e2e_test

import (
	"testing"

	"golang.org/x/sys/unix"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/test/e2e"
)

const manyShells = `
sequences:
  many:
    request: true
    args: {required: [{name: list}]}
    nodes:
      s: {category: job, type: split, args: [{expected: string, given: list}], sets: [{arg: list, as: each}]}
      a:
        category: job
        type: shell
        each: ["each:n"]
        args: [{expected: script, value: "sleep 0.2"}]
        deps: [s]
`

// A runner that has few descriptors runs many commands nonetheless: those for which
// there is no room wait.
func TestManyCommandsOnARunnerWithFewDescriptors(t *testing.T) {
	t.Parallel()
	e := e2e.NewEnv(t, "SQLite")
	e.Spec("many", manyShells)
	e.StartRM()
	jr := e.StartJR()
	few := unix.Rlimit{Cur: 48, Max: 48}
	if err := unix.Prlimit(jr.PID(), unix.RLIMIT_NOFILE, &few, nil); err != nil {
		t.Fatal(err)
	}
	list := "0"
	for range 150 {
		list += ",1"
	}
	id := e.Submit("many", map[string]any{"list": list})
	e.WaitState(id, proto.StateComplete, patience)
	if log := e.Log(id); len(log) != 152 {
		t.Errorf("%d tries, want one of each job:\n%s", len(log), e.LogText(id))
	}
}
