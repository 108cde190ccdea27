package plan

import (
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/proto"
)

// TestFormsOfTimes holds what a period can be called to what the verbs take.
func TestFormsOfTimes(t *testing.T) {
	t.Parallel()
	app, err := Compile(proto.App{Name: "x", Request: "x", Starts: "hourly", Timezone: "Asia/Kolkata"}, time.Time{}, 0)
	testkit.Must(t, err)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	want := time.Date(2026, 2, 28, 18, 30, 0, 0, time.UTC) // midnight there
	for _, s := range []string{
		"2026-02-28T18:30:00Z", "2026-03-01T00:00:00+05:30", "2026-03-01T00:00:00", "2026-03-01 00:00:00", "2026-03-01",
		"17h30m", "2026-03-01-0000-x", "2026-03-01-0000",
	} {
		if got, err := app.parseTime("from", s, now); err != nil || !got.Equal(want) {
			t.Errorf("%s is %s, %v; want %s", s, got, err, want)
		}
	}
	if got, err := app.parseTime("from", "7d", now); err != nil || !got.Equal(now.AddDate(0, 0, -7)) {
		t.Errorf("7d is %s, %v", got, err)
	}
	for _, s := range []string{"", "yesterday", "-1h", "2026-02-30", "2026-03-01-0000-y", "2026-03-01-0010-x"} {
		_, err := app.parseTime("from", s, now)
		testkit.ErrorCode(t, err, proto.CodeInvalid)
	}
}
