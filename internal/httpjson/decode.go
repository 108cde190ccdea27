package httpjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/treadle-run/treadle/internal/exactjson"
	"github.com/treadle-run/treadle/internal/httpserve"
	"github.com/treadle-run/treadle/proto"
)

// maxDrain is how much of a body that is too large is still read: a client that
// sends all before it listens then sees the answer and not a connection that was
// cut.
const maxDrain = 64 << 20

// Decode reads the body, which must be one JSON object of at most limit bytes,
// into dst. Keys match fields without regard to case; unknown keys are ignored.
// The errors are *proto.Error: CodeInvalid with the place or the field of the
// mistake, CodeTooLarge over the limit.
func Decode(c echo.Context, dst any, limit int64) error {
	b := getBuffer()
	defer putBuffer(b)
	if err := read(c, b, limit); err != nil {
		return err
	}
	return Unmarshal(b.Bytes(), dst)
}

// DecodeExact is Decode for a body that a user wrote: the error is CodeInvalid, too, for
// what would silently be read as something else, see exactjson.
func DecodeExact(c echo.Context, dst any, limit int64) error {
	b := getBuffer()
	defer putBuffer(b)
	if err := read(c, b, limit); err != nil {
		return err
	}
	if err := Unmarshal(b.Bytes(), dst); err != nil {
		return err
	}
	return checkExact(b.Bytes())
}

func checkExact(body []byte) error {
	if err := exactjson.Check(body); err != nil {
		return proto.Errorf(proto.CodeInvalid, "%s", err)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil {
		return nil // it is no object: whoever decodes it finds that
	}
	seen := make(map[string]string, len(fields))
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		folded := strings.ToLower(strings.ToUpper(name)) // as names of fields are compared
		if other, twice := seen[folded]; twice {
			return proto.Errorf(proto.CodeInvalid, "%s and %s are the same field", proto.Excerpt(other), proto.Excerpt(name))
		}
		seen[folded] = name
	}
	return nil
}

// DecodeStrict is DecodeExact for a body whose every key must be known, and whose errors
// name the field also where the value of a type of ours is malformed. dst is a
// pointer to a struct.
func DecodeStrict(c echo.Context, dst any, limit int64) error {
	b := getBuffer()
	defer putBuffer(b)
	if err := read(c, b, limit); err != nil {
		return err
	}
	if err := unmarshalStrict(b, dst); err != nil {
		return err
	}
	return checkExact(b.Bytes())
}

// DecodeNothing is DecodeStrict for a call that needs no body: it may have none, or an
// empty object.
func DecodeNothing(c echo.Context, limit int64) error {
	b := getBuffer()
	defer putBuffer(b)
	if err := read(c, b, limit); err != nil {
		return err
	}
	if len(bytes.TrimSpace(b.Bytes())) == 0 {
		return nil
	}
	return unmarshalStrict(b, new(struct{}))
}

func unmarshalStrict(b *bytes.Buffer, dst any) error {
	err := Unmarshal(b.Bytes(), dst)
	var fields map[string]json.RawMessage
	if json.Unmarshal(b.Bytes(), &fields) != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		if e := checkField(dst, name, fields[name]); e != nil {
			return e
		}
	}
	return err
}

// checkField says what is wrong with one field of a body like dst.
func checkField(dst any, name string, value json.RawMessage) error {
	body, err := json.Marshal(map[string]json.RawMessage{name: value})
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	err = d.Decode(reflect.New(reflect.TypeOf(dst).Elem()).Interface())
	if err == nil {
		return nil
	}
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && t.Field != "" {
		return mistake(body, err)
	}
	if unknown, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return proto.Errorf(proto.CodeInvalid, "%s: there is no such field", strings.Trim(unknown, `"`))
	}
	return proto.Errorf(proto.CodeInvalid, "%s: %s", name, err)
}

// Unmarshal is Decode for a body that was read already.
func Unmarshal(body []byte, dst any) error {
	text := bytes.TrimLeft(body, " \t\r\n")
	if len(text) == 0 {
		return proto.Errorf(proto.CodeInvalid, "the body is empty: expected a JSON object")
	}
	if !utf8.Valid(text) {
		return proto.Errorf(proto.CodeInvalid, "the body is not UTF-8")
	}
	if err := json.Unmarshal(body, dst); err != nil {
		return mistake(body, err)
	}
	if text[0] != '{' { // null decodes into anything
		return proto.Errorf(proto.CodeInvalid, "the body is null: expected a JSON object")
	}
	return nil
}

// read fills b with the body.
func read(c echo.Context, b *bytes.Buffer, limit int64) error {
	r := c.Request()
	if enc := r.Header.Get(echo.HeaderContentEncoding); enc != "" && enc != "identity" {
		return proto.Errorf(proto.CodeInvalid, "Content-Encoding %q is not supported: send the body as it is", enc)
	}
	if r.ContentLength > limit && r.Header.Get("Expect") != "" {
		return tooLarge(limit) // the client has not sent it and now never will
	}
	// The buffer grows with what comes, not with what the header says will come.
	_, err := b.ReadFrom(io.LimitReader(r.Body, limit+1))
	if errors.Is(err, httpserve.ErrSlowBody) {
		return &proto.Error{Code: proto.CodeTimeout, Message: "the body came too slowly: send it in one go", Err: err}
	}
	if err != nil {
		return &proto.Error{Code: proto.CodeInvalid, Message: "the body ends before its length: the connection was cut", Err: err}
	}
	if int64(b.Len()) > limit {
		// What cannot be drained is the client's loss, not an error of ours.
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
		return tooLarge(limit)
	}
	return nil
}

func tooLarge(limit int64) error {
	return proto.Errorf(proto.CodeTooLarge, "the body is larger than %s", Size(limit))
}

// Size returns a number of bytes as text for a message, such as "8 MiB".
func Size(n int64) string {
	switch {
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// mistake says what is wrong with a body that does not decode.
func mistake(body []byte, err error) error {
	if s, ok := errors.AsType[*json.SyntaxError](err); ok {
		if s.Offset >= int64(len(body)) && strings.HasPrefix(s.Error(), "unexpected end") {
			return proto.Errorf(proto.CodeInvalid, "malformed JSON: the body ends in the middle, after %d bytes", len(body))
		}
		line, column := position(body, s.Offset)
		return proto.Errorf(proto.CodeInvalid, "malformed JSON at line %d, column %d: %s", line, column, s.Error())
	}
	if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		where := "the body"
		if t.Field != "" {
			where = t.Field
		}
		return proto.Errorf(proto.CodeInvalid, "%s: expected %s, got %s", where, kindName(t), proto.Excerpt(t.Value))
	}
	if e, ok := errors.AsType[*proto.Error](err); ok {
		return e
	}
	return proto.Errorf(proto.CodeInvalid, "malformed body: %s", err)
}

// position returns the line and the column, both from 1, of the last of the first
// n bytes.
func position(body []byte, n int64) (line, column int) {
	before := body[:max(0, min(n, int64(len(body)))-1)]
	last := bytes.LastIndexByte(before, '\n')
	return bytes.Count(before, []byte{'\n'}) + 1, len(before) - last
}

// kindName names the JSON type that a Go type is decoded from.
func kindName(t *json.UnmarshalTypeError) string {
	switch t.Type.Kind().String() {
	case "string":
		return "a string"
	case "bool":
		return "true or false"
	case "slice", "array":
		return "a list"
	case "map", "struct", "ptr":
		return "an object"
	case "float32", "float64":
		return "a number"
	}
	if strings.HasPrefix(t.Value, "number ") {
		return "a number in the range of " + t.Type.Kind().String()
	}
	return "a whole number"
}
