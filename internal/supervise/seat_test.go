package supervise

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A runner that comes up where another one was killed has commands of that one
// beside it for a moment. It is not there for others before they are gone.
func TestARunnerTakesASeatThatIsEmpty(t *testing.T) {
	t.Parallel()
	address, log := newMark(), filepath.Join(t.TempDir(), "log")
	first, second, other := startSeated(t, time.Hour), startSeated(t, time.Hour), startSeated(t, time.Hour)
	first.say("succeed %s", address)
	first.hear("succeeded")
	first.say("run %s %s %s", address, address,
		fmt.Sprintf(`trap 'sleep 0.5; echo first-ends >>%[1]s; exit' TERM; echo first >>%[1]s; while :; do sleep 0.05; done`, log))
	first.hear("started")
	waitFile(t, log, 1)
	other.say("succeed %s-other", address)
	other.hear("succeeded") // another address is another seat

	first.kill()
	second.say("succeed %s", address)
	second.hear("succeeded")
	if got := strings.Join(waitFile(t, log, 1), " "); got != "first first-ends" {
		t.Errorf("the second runner took the seat when the log was %q", got)
	}
	second.say("run %s %s echo second >>%s", address, address, log)
	second.hear("started")
	if said := second.hear("ended"); said != "false 0" {
		t.Errorf("the command of the second runner ended %s", said)
	}
}

// What a command leaves behind on purpose does not keep the seat.
func TestCommandsHaveNoSeat(t *testing.T) {
	t.Parallel()
	address, log := newMark(), filepath.Join(t.TempDir(), "log")
	first, second := startSeated(t, time.Hour), startSeated(t, time.Hour)
	first.say("succeed %s", address)
	first.hear("succeeded")
	first.say("run %s %s ls -l /proc/self/fd >%s; echo >>%s", address, address, log, log)
	first.hear("started")
	first.hear("ended")
	if got := strings.Join(waitFile(t, log, 2), "\n"); strings.Contains(got, "runner-") {
		t.Errorf("a command has the lock of the seat:\n%s", got)
	}
	first.end()
	second.say("succeed %s", address)
	second.hear("succeeded")
}
