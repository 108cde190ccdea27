package calendar

import (
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/proto"
)

// The days of a week on which a cron starts.
func TestCronDaysOfTheWeek(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ field, want string }{
		{"fri-thu/2", "Tue Thu Fri Sun"}, {"FRI-THU/2", "Tue Thu Fri Sun"}, {"5-4/2", "Tue Thu Fri Sun"}, {"tue-mon/3", "Mon Tue Fri"},
		{"sat-fri/3", "Tue Fri Sat"}, {"thu-wed/6", "Wed Thu"}, {"sun-sat/2", "Tue Thu Sat Sun"}, {"7-6/2", "Tue Thu Sat Sun"},
		{"mon-sun/2", "Mon Wed Fri Sun"}, {"1-7/2", "Mon Wed Fri Sun"}, {"1/2", "Mon Wed Fri Sun"},
		{"THU", "Thu"}, {"thu", "Thu"}, {"Thu", "Thu"}, {"MON-THU", "Mon Tue Wed Thu"}, {"mon-THU", "Mon Tue Wed Thu"}, {"TUE,THU,SAT", "Tue Thu Sat"},
		{"sat-mon", "Mon Sat Sun"}, {"6-1", "Mon Sat Sun"}, {"fri-7", "Fri Sat Sun"}, {"5-7", "Fri Sat Sun"}, {"7-1", "Mon Sun"}, {"7", "Sun"}, {"0", "Sun"},
		{"mon-mon", "Mon"}, {"fri-thu", "Mon Tue Wed Thu Fri Sat Sun"}, {"0-7", "Mon Tue Wed Thu Fri Sat Sun"}, {"*", "Mon Tue Wed Thu Fri Sat Sun"},
		{"?", "Mon Tue Wed Thu Fri Sat Sun"}, {"*/2", "Tue Thu Sat Sun"}, {"*/7", "Sun"}, {"4-2,3", "Mon Tue Wed Thu Fri Sat Sun"},
	} {
		c, err := New(proto.App{Cron: "0 0 * * " + tt.field})
		if err != nil {
			t.Errorf("%s: %v", tt.field, err)
			continue
		}
		var days []string
		monday := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
		at, ok := c.Next(monday.Add(-time.Second))
		for ; ok && at.Start.Before(monday.AddDate(0, 0, 7)); at, ok = c.Next(at.Start) {
			days = append(days, at.Start.UTC().Format("Mon"))
		}
		if got := strings.Join(days, " "); got != tt.want {
			t.Errorf("%s starts on %s, want %s", tt.field, got, tt.want)
		}
	}
}

// Other fields go over their end in the same way.
func TestCronFieldsExpand(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		field      int
		text, want string
	}{
		{0, "50-10/10", "0,10,50"}, {0, "58-2", "0,1,2,58,59"}, {0, "*/20", "0,20,40"}, {0, "5/25", "5,30,55"}, {0, "007", "7"},
		{1, "22-2/2", "0,2,22"}, {1, "23-1", "0,1,23"},
		{2, "30-3/2", "1,3,30"}, {2, "28-1", "1,28,29,30,31"}, {2, ",1", "1"},
		{3, "NOV-feb", "1,2,11,12"}, {3, "11-2/2", "1,11"}, {3, "JAN,jul", "1,7"}, {3, "*", "*"},
	} {
		got, err := fields[tt.field].expand(tt.text)
		if err != nil || got != tt.want {
			t.Errorf("%s %s: %s, %v, want %s", fields[tt.field].name, tt.text, got, err, tt.want)
		}
	}
}

// What is wrong with a cron is said in the words of the docs.
func TestCronRefusesInItsOwnWords(t *testing.T) {
	t.Parallel()
	const (
		extended = ": L, W and # are not supported; write days as numbers, names, ranges and steps"
		dom      = ": it must be a number from 1 to 31"
		dow      = ": it must be a number from 0 to 7, or a name from sun to sat"
		words    = "cron has five fields, or is one of @yearly, @monthly, @weekly, @daily, @hourly and @every with a duration"
	)
	for _, tt := range []struct{ cron, want string }{
		{"0 0 L * *", "the day of month has `L`" + extended}, {"0 0 L-3 * *", "the day of month has `L-3`" + extended},
		{"0 0 15W * *", "the day of month has `15W`" + extended}, {"0 0 LW * *", "the day of month has `LW`" + extended},
		{"0 0 1,lw * *", "the day of month has `lw`" + extended}, {"0 0 * * 5L", "the day of week has `5L`" + extended},
		{"0 0 * * FRIL", "the day of week has `FRIL`" + extended}, {"0 0 * * MON#1", "the day of week has `MON#1`" + extended},
		{"0 0 * * 5#L", "the day of week has `5#L`" + extended},
		{"0 0 H * *", "the day of month has `H`" + dom}, {"0 0 32 * *", "the day of month has `32`" + dom}, {"0 0 0 * *", "the day of month has `0`" + dom},
		{"0 0 +5 * *", "the day of month has `+5`" + dom}, {"0 0 -5 * *", "the day of month has ``" + dom}, {"0 0 5- * *", "the day of month has ``" + dom},
		{"0 0 * * 8", "the day of week has `8`" + dow}, {"0 0 * * tuesday", "the day of week has `tuesday`" + dow},
		{"0 0 * 13 *", "the month has `13`: it must be a number from 1 to 12, or a name from jan to dec"},
		{"60 0 * * *", "the minute has `60`: it must be a number from 0 to 59"}, {"0 24 * * *", "the hour has `24`: it must be a number from 0 to 23"},
		{"1-2-3 0 * * *", "the minute has `2-3`: it must be a number from 0 to 59"}, {"mon 0 * * *", "the minute has `mon`: it must be a number from 0 to 59"},
		{"*/0 0 * * *", "the minute has `*/0`: a step must be a whole number of at least 1, and less than the 60 values that it counts over"},
		{"*/x 0 * * *", "the minute has `*/x`: a step must be a whole number of at least 1, and less than the 60 values that it counts over"},
		{"0-5/9 0 * * *", "the minute has `0-5/9`: a step must be a whole number of at least 1, and less than the 6 values that it counts over"},
		{", 0 * * *", "the minute has no value"}, {"@reboot", words}, {"@fortnightly", words}, {"@", words},
	} {
		_, err := New(proto.App{Cron: tt.cron})
		if want := "`cron` is `" + tt.cron + "`: " + tt.want; err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", tt.cron, err, want)
		}
	}
}

func TestBothDays(t *testing.T) {
	t.Parallel()
	for cron, want := range map[string]bool{
		"0 0 */2 * 1": true, "0 0 1 * */2": true, "0 0 */2 * */2": true, "0 0 ?/2 * mon": false,
		"0 0 1-31/2 * 1": false, "0 0 1 * 1": false, "0 0 * * 1": false, "0 0 */2 * *": false, "0 0 ? * 1": false, "0 0 */1 * 1": false, "0 0 *,5 * 1": false,
		"@daily": false, "": false, "*": false,
	} {
		if got := BothDays(cron); got != want {
			t.Errorf("BothDays(%q) is %v", cron, got)
		}
	}
}

// FuzzCron: any text makes a calendar or an error in our words, and a calendar goes on.
func FuzzCron(f *testing.F) {
	for _, cron := range []string{"30 2 * * *", "0 0 */2 * 1", "0 0 * * fri-thu/2", "@every 90s", "0 0 L * MON#1", "59-1/3 23-1 28-3 nov-feb 7-6/2", "@DAILY", "\xff * * * *"} {
		f.Add(cron)
	}
	f.Fuzz(func(t *testing.T, cron string) {
		c, err := New(proto.App{Cron: cron})
		if err != nil {
			for _, jargon := range []string{"option", "strconv", "parse"} {
				if text := strings.ReplaceAll(err.Error(), quote(cron), ""); strings.Contains(text, jargon) && !strings.Contains(cron, jargon) {
					t.Errorf("%q: %v", cron, err)
				}
			}
			return
		}
		at := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
		if next, ok := c.Next(at); ok && !next.Start.After(at) {
			t.Errorf("%q: %s comes after %s", cron, next.Start, at)
		}
	})
}
