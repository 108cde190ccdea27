package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/treadle-run/treadle/chain"
	"github.com/treadle-run/treadle/internal/mask"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// errGoexit is the end of a job that returns from its goroutine, not from Run.
var errGoexit = errors.New("the job ended its goroutine (runtime.Goexit) instead of returning")

// try is one try of a job that runs.
type try struct {
	start     chain.Start
	job       job.Job
	startedAt time.Time
	sequence  string // name of the sequence whose deadline is the try's, if one is
	// wakeAt is when a try that only waits ends, by its deadline if it expires.
	wakeAt  time.Time
	expires bool
	life    atomic.Int32 // see abandoned
	watched bool         // see abandoned.watch
}

// tryResult is what a try ended with.
type tryResult struct {
	try   *try
	entry *proto.JobLog
}

// startTry starts a try in a goroutine of its own, or puts it to sleep if it only
// waits, or ends it at once if it cannot run at all.
func (c *chainRun) startTry(jobs context.Context, s chain.Start, now time.Time) {
	t := &try{start: s, startedAt: now}
	if s.TimedOut != "" {
		t.sequence = c.chain.SequenceName(s.TimedOut)
	}
	j, err := c.env.registry.Load(s.Job.Type, s.Job.Bytes)
	if err == nil && !s.Deadline.IsZero() && !s.Deadline.After(now) {
		err = errNotStarted
	}
	var sleeps bool
	var d time.Duration
	if err == nil {
		t.job = j
		d, sleeps, err = job.Sleep(j)
	}
	c.mu.Lock() // from here on others read the try
	c.live[s.Job.ID] = t
	c.mu.Unlock()
	if err != nil {
		c.results <- c.result(t, job.Result{}, err, errors.Is(err, errJobTimeout), false)
		return
	}
	if sleeps {
		c.sleep(t, d)
		return
	}
	go c.runTry(job.WithInfo(jobs, &job.Info{
		RequestID: c.id, JobID: s.Job.ID, Name: s.Job.Name, Type: s.Job.Type,
		Try: s.Try, Epoch: c.epoch, Args: s.Job.CreatedArgs(),
	}), t)
}

// runTry is the whole life of a job's goroutine. It may exist many thousand times:
// what needs a deep stack is done elsewhere, before or after.
func (c *chainRun) runTry(ctx context.Context, t *try) {
	tryCtx := ctx
	if !t.start.Deadline.IsZero() {
		var cancel context.CancelFunc
		tryCtx, cancel = context.WithDeadlineCause(ctx, t.start.Deadline, errJobTimeout)
		defer cancel()
	}
	res, err := job.Result{}, errGoexit
	defer func() {
		timedOut := errors.Is(context.Cause(tryCtx), errJobTimeout)
		result := c.result(t, res, err, timedOut, ctx.Err() != nil)
		c.env.abandoned.ended(t)
		c.results <- result
	}()
	res, err = job.Run(tryCtx, t.job, t.start.Data)
}

// result makes the entry of a try.
func (c *chainRun) result(t *try, res job.Result, err error, timedOut, stopped bool) *tryResult {
	e := t.entry(c)
	e.Exit = res.Exit
	if err == nil {
		e.Data, err = c.checkData(res.Data)
		stopped, timedOut = false, false // it was done before it noticed
	}
	if errors.Is(err, errNotStarted) {
		e.FinishedAt = e.StartedAt // so the chain knows, too
	}
	switch {
	case err == nil:
		e.State = proto.StateComplete
	case timedOut: // before it was stopped, if it was
		e.State, e.TimedOut = proto.StateFail, t.start.TimedOut
		e.Error = timeoutMessage(t, err)
	case stopped, errors.Is(err, job.ErrInterrupted):
		e.State, e.Error = proto.StateStopped, stoppedMessage(err)
	default:
		e.State, e.Error = proto.StateFail, err.Error()
	}
	if p, ok := errors.AsType[*job.PanicError](err); ok {
		c.log.Error("job panicked", "job", e.JobID, "type", e.Type, "try", e.Try,
			"panic", c.secrets.Text(fmt.Sprint(p.Value)), "stack", c.secrets.Text(string(p.Stack)))
		res.Stderr = append(append(res.Stderr[:len(res.Stderr):len(res.Stderr)], '\n'), p.Stack...)
	}
	e.Error = strings.ToValidUTF8(string(clip([]byte(c.secrets.Text(e.Error)), maxError)), "\uFFFD")
	e.SetOutput(clip(c.secrets.Bytes(res.Stdout), maxOutput), clip(c.secrets.Bytes(res.Stderr), maxOutput))
	return &tryResult{try: t, entry: e}
}

// Limits of what is kept of a try, in bytes, for job types that have none of
// their own: an entry must fit into a report.
const (
	maxOutput = 2 << 20
	maxError  = 64 << 10
)

// clip keeps the head and the tail of what is longer than limit.
func clip(b []byte, limit int) []byte {
	if len(b) <= limit {
		return b
	}
	marker := mask.CutNote(int64(len(b) - limit))
	out := make([]byte, 0, limit+len(marker))
	out = append(append(out, b[:limit/2]...), marker...)
	return append(out, b[len(b)-limit/2:]...)
}

func timeoutMessage(t *try, err error) string {
	what := fmt.Sprintf("timed out after %s", t.start.Job.Timeout)
	if t.start.TimedOut != "" {
		what = fmt.Sprintf("the timeout of sequence %s passed", t.sequence)
	}
	if errors.Is(err, errNotStarted) {
		return what + " before the try started"
	}
	if errors.Is(err, errJobTimeout) || errors.Is(err, context.DeadlineExceeded) {
		return what
	}
	return what + ": " + err.Error()
}

// stoppedMessage says once that a try was stopped, even if its job says so, too, of a
// context that ended with that.
func stoppedMessage(err error) string {
	const once = "stopped: "
	text := err.Error()
	for strings.HasPrefix(text, once+errStopped.Error()) {
		text = strings.TrimPrefix(text, once)
	}
	return text
}

// checkData brings what a job set to the form that it is stored in.
func (c *chainRun) checkData(data proto.Values) (proto.Values, error) {
	if len(data) == 0 {
		return nil, nil
	}
	data = data.Clone()
	if err := data.Normalize(); err != nil {
		return nil, fmt.Errorf("job data: %w", err)
	}
	b, err := data.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("job data: %w", err)
	}
	if limit := c.env.maxDataSize; len(b) > limit {
		return nil, fmt.Errorf("job data has %d bytes of JSON; at most %d are allowed", len(b), limit)
	}
	if c.secrets.Has(data) {
		return nil, errors.New("job data must not hold the value of a secret arg: it would be stored and shown")
	}
	return data, nil
}

// entry returns the part of the job log entry that is known before the end.
func (t *try) entry(c *chainRun) *proto.JobLog {
	j := t.start.Job
	return &proto.JobLog{
		RequestID: c.id, JobID: j.ID, Name: j.Name, Type: j.Type,
		Try: t.start.Try, Run: t.start.Run, Epoch: c.epoch,
		StartedAt: t.startedAt.UnixNano(), FinishedAt: time.Now().UnixNano(),
	}
}

// appendStatus appends what runs now. It is the only method that other
// goroutines than the loop may call, command aside.
func (c *chainRun) appendStatus(to []proto.JobStatus) []proto.JobStatus {
	c.mu.Lock()
	tries := make([]*try, 0, len(c.live))
	for _, t := range c.live {
		tries = append(tries, t)
	}
	c.mu.Unlock()
	for _, t := range tries {
		to = append(to, c.status(t))
	}
	return to
}

// status says what a try does.
func (c *chainRun) status(t *try) proto.JobStatus {
	j := t.start.Job
	s := proto.JobStatus{
		RequestID: c.id, JobID: j.ID, Type: j.Type, Name: j.Name,
		StartedAt: t.startedAt.UnixNano(), State: proto.StateRunning, Try: t.start.Try,
	}
	if t.job != nil {
		s.Status = c.secrets.Text(job.Status(t.job))
	}
	return s
}
