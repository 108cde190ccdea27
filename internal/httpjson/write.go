package httpjson

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"

	"github.com/labstack/echo/v4"
)

// maxPooled is the largest buffer that is kept for the next body: one large job
// chain must not hold its memory for good.
const maxPooled = 1 << 20

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

func getBuffer() *bytes.Buffer {
	return buffers.Get().(*bytes.Buffer)
}

func putBuffer(b *bytes.Buffer) {
	if b.Cap() > maxPooled {
		return
	}
	b.Reset()
	buffers.Put(b)
}

// JSON answers with v. It is encoded in full before the first byte is sent, so
// an error leaves room for an error answer.
func JSON(c echo.Context, status int, v any) error {
	b := getBuffer()
	defer putBuffer(b)
	if err := json.NewEncoder(b).Encode(v); err != nil {
		return err
	}
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
	h.Set(echo.HeaderContentLength, strconv.Itoa(b.Len()))
	c.Response().WriteHeader(status)
	_, err := c.Response().Write(b.Bytes())
	return err
}

// Empty answers 200 without a body.
func Empty(c echo.Context) error {
	return c.NoContent(http.StatusOK)
}
