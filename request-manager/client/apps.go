package client

import (
	"context"
	"net/url"
	"strconv"
	"time"

	"github.com/treadle-run/treadle/internal/httpclient"
	"github.com/treadle-run/treadle/proto"
)

// appPath returns the path of an app, and of what is below it.
func appPath(name, below string) string { return "/api/v1/apps/" + url.PathEscape(name) + below }

// Apps returns apps by name: those after the given name, "" for from the first on,
// up to limit; 0 is a default.
func (c *Client) Apps(ctx context.Context, after string, limit uint) ([]proto.AppStatus, error) {
	q := url.Values{}
	if after != "" {
		q.Set("after", after)
	}
	setCount(q, "limit", limit)
	var apps []proto.AppStatus
	err := c.get(ctx, "/api/v1/apps", q, &apps)
	return apps, err
}

// App returns an app and its status.
func (c *Client) App(ctx context.Context, name string) (proto.AppStatus, error) {
	var app proto.AppStatus
	err := c.get(ctx, appPath(name, ""), nil, &app)
	return app, err
}

// PutApp makes an app or changes it, and returns its status. An app that the
// specs declare is CodeConflict.
func (c *Client) PutApp(ctx context.Context, app proto.App) (proto.AppStatus, error) {
	var status proto.AppStatus
	err := c.http.Do(ctx, httpclient.Call{Method: "PUT", Base: c.url, Path: appPath(app.Name, ""), Body: app, Out: &status, Repeat: true})
	return status, err
}

// DeleteApp removes an app. Its in-flight instances complete.
func (c *Client) DeleteApp(ctx context.Context, name string) error {
	return c.http.Do(ctx, httpclient.Call{Method: "DELETE", Base: c.url, Path: appPath(name, "")})
}

// PauseApp keeps an app from starting instances, or lets it go on.
func (c *Client) PauseApp(ctx context.Context, name string, paused bool) error {
	verb := "/resume"
	if paused {
		verb = "/pause"
	}
	return c.http.Do(ctx, httpclient.Call{Method: "PUT", Base: c.url, Path: appPath(name, verb)})
}

// UndoInstance has an undo that keeps failing tried now, or no longer tried.
func (c *Client) UndoInstance(ctx context.Context, app string, u proto.UndoInstance) error {
	return c.http.Do(ctx, httpclient.Call{Method: "PUT", Base: c.url, Path: appPath(app, "/undo"), Body: u})
}

// RunPeriods makes instances of periods of an app, and says what became of each.
func (c *Client) RunPeriods(ctx context.Context, name string, r proto.RunPeriods) (proto.RunPeriodsAnswer, error) {
	var answer proto.RunPeriodsAnswer
	err := c.http.Do(ctx, httpclient.Call{Method: "POST", Base: c.url, Path: appPath(name, "/run"), Body: r, Out: &answer})
	return answer, err
}

// Periods returns the ledger of an app, newest first: periods that start in [since,
// until), up to limit. Zeros are defaults.
func (c *Client) Periods(ctx context.Context, name string, since, until time.Time, limit uint) ([]proto.Period, error) {
	q := url.Values{}
	setTime(q, "since", since)
	setTime(q, "until", until)
	setCount(q, "limit", limit)
	var periods []proto.Period
	err := c.get(ctx, appPath(name, "/periods"), q, &periods)
	return periods, err
}

// NextTimes returns the next n times of an app from a time on, from now on if that is
// zero; n is a default if 0.
func (c *Client) NextTimes(ctx context.Context, name string, from time.Time, n uint) ([]proto.NextTime, error) {
	q := url.Values{}
	setTime(q, "from", from)
	setCount(q, "n", n)
	var times []proto.NextTime
	err := c.get(ctx, appPath(name, "/next"), q, &times)
	return times, err
}

// AppEvents returns events of an app with an ID greater than since, up to limit;
// 0 is a default.
func (c *Client) AppEvents(ctx context.Context, name string, since uint64, limit uint) ([]proto.AppEvent, error) {
	q := url.Values{}
	if since > 0 {
		q.Set("since", strconv.FormatUint(since, 10))
	}
	setCount(q, "limit", limit)
	var events []proto.AppEvent
	err := c.get(ctx, appPath(name, "/events"), q, &events)
	return events, err
}

// Blocked returns the periods that wait for upstream apps, of one app if name is not
// "", up to limit; 0 is a default.
func (c *Client) Blocked(ctx context.Context, name string, limit uint) ([]proto.Blocked, error) {
	q := url.Values{}
	if name != "" {
		q.Set("app", name)
	}
	setCount(q, "limit", limit)
	var blocked []proto.Blocked
	err := c.get(ctx, "/api/v1/blocked", q, &blocked)
	return blocked, err
}

// Instances returns the instances that the filter lets through: those that have not
// ended first, then newest first.
func (c *Client) Instances(ctx context.Context, f proto.InstanceFilter) ([]proto.Instance, error) {
	q := url.Values{}
	if f.App != "" {
		q.Set("app", f.App)
	}
	if f.Host != "" {
		q.Set("host", f.Host)
	}
	for _, s := range f.States {
		q.Add("state", s.String())
	}
	setTime(q, "since", f.Since)
	setTime(q, "until", f.Until)
	setCount(q, "limit", f.Limit)
	setCount(q, "offset", f.Offset)
	var found []proto.Instance
	err := c.get(ctx, "/api/v1/instances", q, &found)
	return found, err
}

// Members returns the Request Managers that run instances.
func (c *Client) Members(ctx context.Context) ([]proto.MemberStatus, error) {
	var members []proto.MemberStatus
	err := c.get(ctx, "/api/v1/schedule/members", nil, &members)
	return members, err
}

// SetShards changes into how many shards the apps are cut.
func (c *Client) SetShards(ctx context.Context, n uint) error {
	return c.http.Do(ctx, httpclient.Call{
		Method: "PUT", Base: c.url, Path: "/api/v1/schedule/shards", Body: map[string]uint{"shards": n}, Repeat: true,
	})
}

func setTime(q url.Values, key string, t time.Time) {
	if !t.IsZero() {
		q.Set(key, t.UTC().Format(proto.TimeFormat))
	}
}

func setCount(q url.Values, key string, n uint) {
	if n > 0 {
		q.Set(key, strconv.FormatUint(uint64(n), 10))
	}
}
