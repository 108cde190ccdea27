package calendar

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/proto"
)

func mustNew(t *testing.T, app proto.App) *Calendar {
	t.Helper()
	c, err := New(app)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// instant reads RFC 3339.
func instant(t *testing.T, s string) time.Time {
	t.Helper()
	x, err := time.Parse(time.RFC3339, s)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// nextTimes returns the next n starts in the zone of the calendar, each with what is
// unusual about it.
func nextTimes(c *Calendar, after time.Time, n int) []string {
	var list []string
	for range n {
		o, ok := c.Next(after)
		if !ok {
			return append(list, "never")
		}
		layout := "2006-01-02T15:04:05-0700"
		if o.Start.Second() == 0 {
			layout = "2006-01-02T15:04-0700"
		}
		list = append(list, strings.TrimSpace(o.Start.In(c.Location()).Format(layout)+" "+o.Why))
		after = o.Start
	}
	return list
}

func TestNext(t *testing.T) {
	t.Parallel()
	const (
		newYork   = "America/New_York"
		brussels  = "Europe/Brussels"
		lordHowe  = "Australia/Lord_Howe"
		pacific   = "US/Pacific"
		twiceHour = "0,30 * * * *"
	)
	tests := []struct {
		name  string
		app   proto.App
		after string
		want  []string
	}{
		{"New York in March: the time in the gap comes right after it", proto.App{Cron: "30 2 * * *", Timezone: newYork}, "2026-03-07T00:00:00-05:00", []string{
			"2026-03-07T02:30-0500", "2026-03-08T03:00-0400 02:30 does not exist on this day: right after the gap", "2026-03-09T02:30-0400"}},
		{"several in one gap are one", proto.App{Cron: "*/20 2 * * *", Timezone: newYork}, "2026-03-07T02:30:00-05:00", []string{
			"2026-03-07T02:40-0500", "2026-03-08T03:00-0400 02:00 does not exist on this day: right after the gap", "2026-03-09T02:00-0400"}},
		{"what comes at the end of the gap anyway is no second one", proto.App{Cron: "0 2,3 * * *", Timezone: newYork}, "2026-03-08T01:00:00-05:00", []string{
			"2026-03-08T03:00-0400", "2026-03-09T02:00-0400"}},
		{"gap: skip", proto.App{Cron: "30 2 * * *", Timezone: newYork, Gap: GapSkip}, "2026-03-07T00:00:00-05:00", []string{
			"2026-03-07T02:30-0500", "2026-03-09T02:30-0400 02:30 of 2026-03-08 does not exist: skipped", "2026-03-10T02:30-0400"}},
		{"New York in November: once", proto.App{Cron: "30 1 * * *", Timezone: newYork}, "2026-10-31T00:00:00-04:00", []string{
			"2026-10-31T01:30-0400", "2026-11-01T01:30-0400 01:30 comes twice on this day: the first", "2026-11-02T01:30-0500"}},
		{"fold: second", proto.App{Cron: "30 1 * * *", Timezone: newYork, Fold: FoldSecond}, "2026-10-31T00:00:00-04:00", []string{
			"2026-10-31T01:30-0400", "2026-11-01T01:30-0500 01:30 comes twice on this day: the second", "2026-11-02T01:30-0500"}},
		{"fold: both, in order of time and not of the clock", proto.App{Cron: "0,30 1 * * *", Timezone: newYork, Fold: FoldBoth}, "2026-11-01T00:00:00-04:00", []string{
			"2026-11-01T01:00-0400 01:00 comes twice on this day: the first", "2026-11-01T01:30-0400 01:30 comes twice on this day: the first",
			"2026-11-01T01:00-0500 01:00 comes twice on this day: the second", "2026-11-01T01:30-0500 01:30 comes twice on this day: the second",
			"2026-11-02T01:00-0500"}},
		{"Pacific in March: each real hour", proto.App{Starts: "hourly", Timezone: pacific}, "2026-03-08T00:30:00-08:00", []string{
			"2026-03-08T01:00-0800", "2026-03-08T03:00-0700", "2026-03-08T04:00-0700"}},
		{"Pacific in November: each real hour", proto.App{Starts: "hourly", Timezone: pacific}, "2026-11-01T00:30:00-07:00", []string{
			"2026-11-01T01:00-0700 01:00 comes twice on this day: the first", "2026-11-01T01:00-0800 01:00 comes twice on this day: the second", "2026-11-01T02:00-0800"}},
		{"a cron of all hours means each real one", proto.App{Cron: "15 * * * *", Timezone: pacific}, "2026-11-01T00:30:00-07:00", []string{
			"2026-11-01T01:15-0700 01:15 comes twice on this day: the first", "2026-11-01T01:15-0800 01:15 comes twice on this day: the second", "2026-11-01T02:15-0800"}},
		{"and one that is told to, does not", proto.App{Cron: "15 * * * *", Timezone: pacific, Fold: FoldFirst}, "2026-11-01T00:30:00-07:00", []string{
			"2026-11-01T01:15-0700 01:15 comes twice on this day: the first", "2026-11-01T02:15-0800"}},
		{"Brussels in October", proto.App{Cron: "0 2,3 * * *", Timezone: brussels}, "2026-10-24T03:30:00+02:00", []string{
			"2026-10-25T02:00+0200 02:00 comes twice on this day: the first", "2026-10-25T03:00+0100", "2026-10-26T02:00+0100"}},
		{"Brussels in October, daily", proto.App{Starts: "daily", Timezone: brussels}, "2026-10-24T12:00:00+02:00", []string{
			"2026-10-25T00:00+0200", "2026-10-26T00:00+0100"}},
		{"Lord Howe shifts half an hour, ahead", proto.App{Cron: twiceHour, Timezone: lordHowe}, "2026-10-04T01:00:00+10:30", []string{
			"2026-10-04T01:30+1030", "2026-10-04T02:30+1100", "2026-10-04T03:00+1100"}},
		{"Lord Howe, the time in the gap", proto.App{Cron: "15 2 * * *", Timezone: lordHowe}, "2026-10-04T01:00:00+10:30", []string{
			"2026-10-04T02:30+1100 02:15 does not exist on this day: right after the gap", "2026-10-05T02:15+1100"}},
		{"Lord Howe shifts half an hour, back", proto.App{Cron: twiceHour, Timezone: lordHowe}, "2026-04-05T01:00:00+11:00", []string{
			"2026-04-05T01:30+1100 01:30 comes twice on this day: the first", "2026-04-05T01:30+1030 01:30 comes twice on this day: the second", "2026-04-05T02:00+1030"}},
		{"a zone without changes", proto.App{Cron: "30 2 * * *", Timezone: "Asia/Tokyo"}, "2026-03-07T00:00:00+09:00", []string{
			"2026-03-07T02:30+0900", "2026-03-08T02:30+0900"}},
		{"midnight that does not exist", proto.App{Starts: "daily", Timezone: "Africa/Cairo"}, "2026-04-23T12:00:00+02:00", []string{
			"2026-04-24T01:00+0300 00:00 does not exist on this day: right after the gap", "2026-04-25T00:00+0300"}},
		{"a day that does not exist", proto.App{Cron: "0 12 30 12 *", Timezone: "Pacific/Apia"}, "2010-12-30T12:00:00-11:00", []string{
			"2011-12-31T00:00+1400 12:00 does not exist on this day: right after the gap", "2012-12-30T12:00+1400"}},
		{"Feb 29", proto.App{Cron: "0 0 29 2 *"}, "2024-02-29T00:00:00Z", []string{"2028-02-29T00:00+0000", "2032-02-29T00:00+0000"}},
		{"Feb 29, over 2100", proto.App{Cron: "0 0 29 2 *"}, "2096-02-29T00:00:00Z", []string{"2104-02-29T00:00+0000"}},
		{"month ends", proto.App{Cron: "0 0 31 * *"}, "2026-01-30T00:00:00Z", []string{"2026-01-31T00:00+0000", "2026-03-31T00:00+0000", "2026-05-31T00:00+0000"}},
		{"monthly", proto.App{Starts: "monthly", Timezone: newYork}, "2026-01-31T12:00:00Z", []string{"2026-02-01T00:00-0500", "2026-03-01T00:00-0500", "2026-04-01T00:00-0400"}},
		{"weeks are those of ISO: 2026 has 53", proto.App{Starts: "weekly"}, "2026-12-21T00:00:00Z", []string{"2026-12-28T00:00+0000", "2027-01-04T00:00+0000"}},
		{"yearly", proto.App{Starts: "yearly", Timezone: brussels}, "2026-12-31T22:59:59Z", []string{"2027-01-01T00:00+0100", "2028-01-01T00:00+0100"}},
		{"minutely over New Year", proto.App{Starts: "minutely"}, "2026-12-31T23:58:30Z", []string{"2026-12-31T23:59+0000", "2027-01-01T00:00+0000", "2027-01-01T00:01+0000"}},
		{"day of month or of week", proto.App{Cron: "0 0 13 * 5"}, "2026-11-01T00:00:00Z", []string{"2026-11-06T00:00+0000", "2026-11-13T00:00+0000", "2026-11-20T00:00+0000"}},
		{"day of month and of week, if one begins with *", proto.App{Cron: "0 0 */2 * mon"}, "2026-11-01T00:00:00Z", []string{"2026-11-09T00:00+0000", "2026-11-23T00:00+0000"}},
		{"Sunday is 0 and 7, names and steps", proto.App{Cron: "5-20/10 6 * nov-DEC Sat-7"}, "2026-11-01T06:05:00Z", []string{"2026-11-01T06:15+0000", "2026-11-07T06:05+0000"}},
		{"@weekly is Sunday", proto.App{Cron: "@weekly"}, "2026-11-02T00:00:00Z", []string{"2026-11-08T00:00+0000"}},
		{"@hourly is each real hour", proto.App{Cron: "@hourly", Timezone: newYork}, "2026-11-01T01:00:00-04:00", []string{"2026-11-01T01:00-0500 01:00 comes twice on this day: the second"}},
		{"every 90s is a grid from the epoch", proto.App{Every: proto.Duration(90 * time.Second)}, "1970-01-01T00:00:00Z", []string{"1970-01-01T00:01:30+0000", "1970-01-01T00:03+0000"}},
		{"and before it", proto.App{Every: proto.Duration(90 * time.Second)}, "1969-12-31T23:58:00Z", []string{"1969-12-31T23:58:30+0000", "1970-01-01T00:00+0000"}},
		{"@every", proto.App{Cron: "@every 90s", Timezone: newYork}, "2026-11-01T01:59:00-04:00", []string{"2026-11-01T01:00-0500", "2026-11-01T01:01:30-0500"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := nextTimes(mustNew(t, tt.app), instant(t, tt.after), len(tt.want))
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A clock that is set changes nothing: the same question has the same answer, and what
// comes after an occurrence is always later than it.
func TestNextAfterTheClockWasSet(t *testing.T) {
	t.Parallel()
	c := mustNew(t, proto.App{Cron: "@every 7m"})
	now := instant(t, "2026-06-01T12:00:00Z")
	last, _ := c.Next(now)
	for _, set := range []time.Duration{time.Hour, -time.Hour} {
		again, _ := c.Next(now.Add(set).Add(-set))
		if !again.Start.Equal(last.Start) {
			t.Errorf("set by %v and back: next is %v, was %v", set, again.Start, last.Start)
		}
		if next, _ := c.Next(last.Start); next.Start.Sub(last.Start) != 7*time.Minute {
			t.Errorf("after %v comes %v", last.Start, next.Start)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	tests := []struct {
		app   proto.App
		field string
		never bool
		want  string
	}{
		{proto.App{}, "every", false, "`every` is missing: one of `every`, `cron`, `starts` and `depends` says when"},
		{proto.App{Cron: "0 0 31 2 *"}, "cron", true, "`cron` is `0 0 31 2 *`, a time that never comes"},
		{proto.App{Cron: "0 0 30 2 1"}, "", false, ""}, // or on a Monday
		{proto.App{Cron: "0 0 30 2 */2"}, "cron", true, "`cron` is `0 0 30 2 */2`, a time that never comes"},
		{proto.App{Cron: "0 0 29 2 */7"}, "", false, ""}, // a Sunday, some day
		{proto.App{Cron: "61 * * * *"}, "cron", false, "`cron` is `61 * * * *`: "},
		{proto.App{Cron: "* * * *"}, "cron", false, "`cron` is `* * * *`: cron has five fields"},
		{proto.App{Cron: "0 0 * * * *"}, "cron", false, "`cron` is `0 0 * * * *`: cron has five fields"},
		{proto.App{Cron: "* * * * foo"}, "cron", false, "`cron` is `* * * * foo`: "},
		{proto.App{Cron: "0 0 L * *"}, "cron", false, "`cron` is `0 0 L * *`: "},
		{proto.App{Cron: "*/0 * * * *"}, "cron", false, "`cron` is `*/0 * * * *`: "},
		{proto.App{Cron: "@fortnightly"}, "cron", false, "`cron` is `@fortnightly`: "},
		{proto.App{Cron: "@reboot"}, "cron", false, "`cron` is `@reboot`: "},
		{proto.App{Cron: "@every"}, "cron", false, "`cron` is `@every`: "},
		{proto.App{Cron: "@every x"}, "cron", false, "`cron` has `x` after @every"},
		{proto.App{Cron: "@every 100ms"}, "cron", false, "`cron` must be at least 1s, not 100ms"},
		{proto.App{Cron: "@every 5m", Gap: GapSkip}, "gap", false, "`gap` has no effect with @every"},
		{proto.App{Cron: "TZ=Asia/Tokyo 0 0 * * *"}, "cron", false, "`cron` is `TZ=Asia/Tokyo 0 0 * * *`: give the time zone in `timezone`"},
		{proto.App{Every: proto.Duration(-time.Second)}, "every", false, "`every` is negative: -1s"},
		{proto.App{Every: proto.Duration(time.Millisecond)}, "every", false, "`every` must be at least 1s, not 1ms"},
		{proto.App{Every: proto.Duration(time.Second + time.Microsecond)}, "every", false, "`every` must be whole milliseconds, not 1.000001s"},
		{proto.App{Starts: "Hourly"}, "starts", false, "`starts` is `Hourly`, which is none of minutely, hourly"},
		{proto.App{Starts: "daily", Timezone: "Mars/Olympus"}, "timezone", false, "`timezone` is `Mars/Olympus`, which is not a time zone"},
		{proto.App{Starts: "daily", Timezone: "Local"}, "timezone", false, "`timezone` is `Local`, which is not a time zone"},
		{proto.App{Starts: "daily", Timezone: "../../etc/passwd"}, "timezone", false, "`timezone` is "},
		{proto.App{Starts: "daily", Gap: "before"}, "gap", false, "`gap` is `before`, which is neither after nor skip"},
		{proto.App{Starts: "daily", Fold: "third"}, "fold", false, "`fold` is `third`, which is none of first, second, both"},
		{proto.App{Depends: map[string]string{"up": "fortnightly"}}, "depends", false, "`depends` has `fortnightly`, which is not a period: write minutely"},
		{proto.App{Depends: map[string]string{"up": "-10s"}}, "depends", false, "`depends` is negative: -10s"},
		{proto.App{Depends: map[string]string{"up": "hourly"}}, "", false, ""},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%+v", tt.app), func(t *testing.T) {
			t.Parallel()
			c, err := New(tt.app)
			if tt.field == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			e, ok := errors.AsType[*FieldError](err)
			if !ok || c != nil {
				t.Fatalf("calendar %v, error %v", c, err)
			}
			if e.Field != tt.field || e.Never != tt.never || !strings.HasPrefix(e.Error(), tt.want) {
				t.Errorf("field %s, never %v: %s\nwant %s", e.Field, e.Never, e, tt.want)
			}
		})
	}
}

func TestPeriodEndsWhereTheNextStarts(t *testing.T) {
	t.Parallel()
	tests := []struct{ period, zone, at, start, end string }{
		{"hourly", "", "2011-01-02T13:59:59Z", "2011-01-02T13:00:00Z", "2011-01-02T14:00:00Z"},
		{"daily", "America/New_York", "2026-03-08T12:00:00-04:00", "2026-03-08T00:00:00-05:00", "2026-03-09T00:00:00-04:00"},
		{"weekly", "Europe/Brussels", "2027-01-02T12:00:00+01:00", "2026-12-28T00:00:00+01:00", "2027-01-04T00:00:00+01:00"},
		{"weekly", "", "2026-12-28T00:00:00Z", "2026-12-28T00:00:00Z", "2027-01-04T00:00:00Z"},
		{"monthly", "", "2024-02-29T23:59:59Z", "2024-02-01T00:00:00Z", "2024-03-01T00:00:00Z"},
		{"yearly", "", "2026-12-31T23:59:59Z", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"},
		{"10s", "", "2026-12-31T23:59:59Z", "2026-12-31T23:59:50Z", "2027-01-01T00:00:00Z"},
		{"24h", "America/New_York", "2026-03-08T12:00:00Z", "2026-03-08T00:00:00Z", "2026-03-09T00:00:00Z"},
	}
	for _, tt := range tests {
		c, err := NewPeriod(tt.period, tt.zone)
		if err != nil {
			t.Fatal(err)
		}
		o, ok := c.AtOrBefore(instant(t, tt.at))
		if !ok || !o.Start.Equal(instant(t, tt.start)) || !o.End.Equal(instant(t, tt.end)) {
			t.Errorf("%s in %q at %s is from %v to %v", tt.period, tt.zone, tt.at, o.Start, o.End)
		}
	}
}

// All names that are suggested exist.
func TestZonesExist(t *testing.T) {
	t.Parallel()
	if len(Zones()) < 400 {
		t.Errorf("there are %d zones", len(Zones()))
	}
	for _, name := range Zones() {
		if _, err := New(proto.App{Starts: "daily", Timezone: name}); err != nil {
			t.Error(err)
		}
	}
}
