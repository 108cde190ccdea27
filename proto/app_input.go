package proto

import (
	"cmp"
	"encoding/json"
)

// AppInput is an app as users write it. It tells a number that is there and 0 from
// one that is left out, and takes what AppStatus has beside the app, so that what was
// read can be written back; of that nothing counts.
type AppInput struct {
	Name         string            `json:"name"`
	Request      string            `json:"request"`
	Args         Values            `json:"args"`
	Every        *Duration         `json:"every"`
	Cron         string            `json:"cron"`
	Starts       string            `json:"starts"`
	Depends      map[string]string `json:"depends"`
	Timezone     string            `json:"timezone"`
	Host         string            `json:"host"`
	Timeout      *Seconds          `json:"timeout"`
	Deadline     *Seconds          `json:"deadline"`
	Undo         string            `json:"undo"`
	FailureDelay *Seconds          `json:"failureDelay"`
	Missed       string            `json:"missed"`
	MissedCap    *uint             `json:"missedCap"`
	Overlap      string            `json:"overlap"`
	Jitter       *Seconds          `json:"jitter"`
	Gap          string            `json:"gap"`
	Fold         string            `json:"fold"`

	// What AppStatus has beside the app.
	Source  json.RawMessage `json:"source"`
	Paused  json.RawMessage `json:"paused"`
	Since   json.RawMessage `json:"since"`
	Next    json.RawMessage `json:"next"`
	Last    json.RawMessage `json:"last"`
	Running json.RawMessage `json:"running"`
	Problem json.RawMessage `json:"problem"`
}

// Definition returns the app. The error, with CodeInvalid, is about the first number
// that is there and 0: left out it would mean none.
func (in AppInput) Definition() (App, error) {
	app := App{
		Name: in.Name, Request: in.Request, Args: in.Args, Cron: in.Cron, Starts: in.Starts, Depends: in.Depends, Timezone: in.Timezone,
		Host: in.Host, Undo: in.Undo, Missed: in.Missed, Overlap: in.Overlap, Gap: in.Gap, Fold: in.Fold,
	}
	return app, cmp.Or(
		given("every", in.Every, &app.Every), given("timeout", in.Timeout, &app.Timeout), given("deadline", in.Deadline, &app.Deadline),
		given("failureDelay", in.FailureDelay, &app.FailureDelay), given("jitter", in.Jitter, &app.Jitter),
		given("missedCap", in.MissedCap, &app.MissedCap),
	)
}

// given stores a number that may have been left out.
func given[T ~int64 | ~uint](field string, value, to *T) error {
	if value == nil {
		return nil
	}
	if *to = *value; *value == 0 {
		return Errorf(CodeInvalid, "`%s` must be more than 0; leave it out for none", field)
	}
	return nil
}
