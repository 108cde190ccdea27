package calendar

import (
	"fmt"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
)

func TestName(t *testing.T) {
	t.Parallel()
	tests := []struct{ zone, at, want string }{
		{"", "2011-01-02T13:00:00Z", "2011-01-02-1300-counter"},
		{"", "2011-01-02T13:00:05Z", "2011-01-02-130005-counter"},
		{"", "2011-01-02T13:00:00.5Z", "2011-01-02-130000.500-counter"},
		{"Europe/Brussels", "2011-01-02T13:00:00Z", "2011-01-02-1400-counter"},
		{"America/New_York", "2026-11-01T01:00:00-04:00", "2026-11-01-0100-counter"},
		{"America/New_York", "2026-11-01T01:00:00-05:00", "2026-11-01-0100-0500-counter"},
		{"America/New_York", "2026-11-01T01:59:59-05:00", "2026-11-01-015959-0500-counter"},
		{"America/New_York", "2026-11-01T02:00:00-05:00", "2026-11-01-0200-counter"},
		{"Europe/Brussels", "2026-10-25T02:00:00+01:00", "2026-10-25-0200+0100-counter"},
		{"Australia/Lord_Howe", "2026-04-05T01:30:00+10:30", "2026-04-05-0130+1030-counter"},
		{"", "2027-01-01T00:00:00Z", "2027-01-01-0000-counter"},
	}
	for _, tt := range tests {
		c := mustNew(t, proto.App{Every: proto.Duration(time.Second), Timezone: tt.zone})
		if got := c.Name(instant(t, tt.at), "counter"); got != tt.want {
			t.Errorf("%s in %q is named %s, want %s", tt.at, tt.zone, got, tt.want)
		}
	}
}

// Names of the hours in which a clock goes back are in order of time, as far as the
// clock is, and all different.
func TestNamesOverAFold(t *testing.T) {
	t.Parallel()
	c := mustNew(t, proto.App{Every: proto.Duration(10 * time.Minute), Timezone: "America/New_York"})
	seen := map[string]time.Time{}
	for at := instant(t, "2026-11-01T04:00:00Z"); at.Before(instant(t, "2026-11-01T08:00:00Z")); at = at.Add(10 * time.Minute) {
		name := c.Name(at, "x")
		if before, ok := seen[name]; ok {
			t.Errorf("%v and %v are both named %s", before, at, name)
		}
		seen[name] = at
	}
}

func TestJitter(t *testing.T) {
	t.Parallel()
	const most = 30 * time.Second
	c := mustNew(t, proto.App{Starts: "hourly"})
	start := instant(t, "2026-01-01T00:00:00Z")
	var thirds [3]int
	for i := range 300 {
		app := proto.App{Name: fmt.Sprintf("app-%d", i%10), Jitter: proto.Seconds(most)}
		at := start.Add(time.Duration(i/10) * time.Hour)
		j := c.Jitter(app, at)
		if j < 0 || j >= most {
			t.Fatalf("jitter of %v is %v", most, j)
		}
		if again := c.Jitter(app, at.In(time.FixedZone("", 3600))); again != j {
			t.Errorf("the same start has jitter %v and %v", j, again)
		}
		thirds[j/(most/3)]++
	}
	for _, n := range thirds {
		if n < 70 || n > 130 { // 100 each, if it is spread evenly
			t.Errorf("of 300 starts, the thirds of the jitter have %v", thirds)
		}
	}
	if j := c.Jitter(proto.App{Name: "none"}, start); j != 0 {
		t.Errorf("without jitter it is %v", j)
	}
}

func TestShortest(t *testing.T) {
	t.Parallel()
	tests := []struct {
		app  proto.App
		want time.Duration
	}{
		{proto.App{Every: proto.Duration(90 * time.Second)}, 90 * time.Second},
		{proto.App{Cron: "@every 5m"}, 5 * time.Minute},
		{proto.App{Cron: "*/7 * * * *"}, 4 * time.Minute},
		{proto.App{Cron: "0 0 28,31 * *"}, 72 * time.Hour},
		{proto.App{Cron: "30 2 * * *", Timezone: "America/New_York"}, 24 * time.Hour},
		{proto.App{Starts: "monthly"}, 28 * 24 * time.Hour},
		{proto.App{Cron: "0 0 29 2 *"}, 1461 * 24 * time.Hour},
	}
	for _, tt := range tests {
		if got := mustNew(t, tt.app).Shortest(); got != tt.want {
			t.Errorf("%+v: shortest is %v, want %v", tt.app, got, tt.want)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	for _, app := range []proto.App{{Every: proto.Duration(time.Minute)}, {Starts: "minutely"}, {Cron: "30 2 * * *", Timezone: "America/New_York"}, {Cron: "0 0 29 2 *", Timezone: "Europe/Brussels"}} {
		c, err := New(app)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(app.Cron+app.Starts+app.Every.String(), func(b *testing.B) {
			at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
			for b.Loop() {
				o, _ := c.Next(at)
				at = o.Start
			}
		})
	}
}
