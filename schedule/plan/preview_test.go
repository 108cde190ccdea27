package plan

import (
	"slices"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/testkit"
	"github.com/treadle-run/treadle/proto"
)

func TestPreview(t *testing.T) {
	t.Parallel()
	list, err := Preview(proto.App{Name: "nightly", Request: "backup", Cron: "30 2 * * *", Timezone: "America/New_York"},
		time.Date(2026, 3, 7, 0, 0, 0, 0, time.UTC), 3)
	testkit.Must(t, err)
	var starts []string
	for i, n := range list {
		starts = append(starts, n.Start.Format(time.RFC3339))
		if (n.Why != "") != (i == 1) {
			t.Errorf("%s: %q", n.Name, n.Why)
		}
	}
	// On March 8 there is no 02:30.
	want := []string{"2026-03-07T07:30:00Z", "2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"}
	if !slices.Equal(starts, want) {
		t.Errorf("next times are %v, want %v", starts, want)
	}
	_, err = Preview(proto.App{Name: "never", Request: "x", Cron: "0 0 31 2 *"}, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC), 3)
	testkit.ErrorCode(t, err, proto.CodeInvalid)
}
