package httpclient

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"time"
)

// Server-sent events: the longest line, and for how long a stream may be silent
// before it is taken for dead. Services show every 15 s that they are alive.
const (
	lineLimit   = 64 << 20
	maxSilence  = 45 * time.Second
	errorAnswer = 1 << 20 // limit of an answer that is an error, in bytes
)

// Events makes the call and gives the data of each event of its answer to fn,
// until the stream ends (nil), fn returns an error (that error), or the stream
// breaks (an error as of Do).
func (c *Client) Events(ctx context.Context, call Call, fn func(data []byte) error) error {
	streamCtx, cancel := context.WithCancel(ctx)
	defer cancel()
	silence := time.AfterFunc(c.silence, cancel)
	defer silence.Stop()

	resp, err := c.request(streamCtx, call, nil).SetDoNotParseResponse(true).Execute(call.Method, target(call))
	if err != nil {
		return c.noAnswer(ctx, call.Base, err)
	}
	body := resp.RawBody()
	defer body.Close()
	if resp.StatusCode() != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(body, errorAnswer)) // half an answer is as good as none
		return c.refused(call.Base, resp.StatusCode(), resp.Header(), text)
	}

	lines := bufio.NewScanner(body)
	lines.Buffer(nil, lineLimit)
	for lines.Scan() {
		silence.Reset(c.silence)
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok {
			continue // names of events, comments, the lines between
		}
		if err := fn(data); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return c.noAnswer(ctx, call.Base, err)
	}
	return nil
}
