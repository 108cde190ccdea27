package grapher

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/treadle-run/treadle/grapher/spec"
	"github.com/treadle-run/treadle/internal/mask"
	"github.com/treadle-run/treadle/job"
	"github.com/treadle-run/treadle/proto"
)

// maxShown is the limit of bytes of a value in an error message.
const maxShown = 100

// fail returns the error of a node. Args are those of the expansion that it is
// about, if it is about one. Secrets in the reason are masked.
func (b *builder) fail(s *visit, n *spec.Node, args proto.Values, format string, a ...any) *proto.Error {
	where := fmt.Sprintf("sequence %s, node %s (%s:%d)", s.plan.Name, n.Name, n.File, n.Line)
	var which []string
	for caller, args := n, args; caller != nil; caller, args, s = s.caller, s.args, s.outer {
		for _, e := range slices.Backward(caller.Each) {
			if value, ok := args[e.Element]; ok {
				which = append(which, e.Element+" "+b.show(value))
			}
		}
	}
	if len(which) > 0 {
		slices.Reverse(which)
		where += ", for " + strings.Join(which, ", ")
	}
	return proto.Errorf(proto.CodeUnprocessable, "%s: %s", where, b.masked(fmt.Sprintf(format, a...)))
}

// tooManyJobs returns the error of a node that would take the chain over its limit.
func (b *builder) tooManyJobs(s *visit, n *spec.Node) *proto.Error {
	return b.fail(s, n, nil, "the request would have more than %d jobs, which is the limit (limits.jobs)", b.specs.limits.Jobs)
}

// cutShort returns the error of a Build whose context ended.
func cutShort(ctx context.Context) *proto.Error {
	return &proto.Error{
		Code:    proto.CodeUnavailable,
		Message: "the job chain was not finished: creating the request was cut short",
		Err:     context.Cause(ctx),
	}
}

// show returns a value for an error message: quoted, not too long, no secrets.
func (b *builder) show(value any) string {
	if value == nil {
		return "null"
	}
	text := b.masked(proto.Text(value))
	if len(text) > maxShown {
		end := maxShown
		for !utf8.RuneStart(text[end]) {
			end--
		}
		text = text[:end] + "..."
	}
	return strconv.Quote(text)
}

// masked returns text without secrets.
func (b *builder) masked(text string) string {
	if b.maskOf != len(b.secrets) { // there are more since
		b.mask, b.maskOf = mask.New(b.secrets), len(b.secrets)
	}
	return b.mask.Text(text)
}

// maskPanic returns the panic without secrets: it will be logged.
func (b *builder) maskPanic(p *job.PanicError) *job.PanicError {
	return &job.PanicError{
		Call:  p.Call,
		Value: b.masked(fmt.Sprint(p.Value)),
		Stack: []byte(b.masked(string(p.Stack))),
	}
}

// describe is show with the kind of the value.
func (b *builder) describe(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "the text " + b.show(value)
	case bool:
		return b.masked(proto.Text(value))
	case map[string]any:
		return "the object " + b.show(value)
	}
	return "the number " + b.masked(proto.Text(value))
}

// quoted returns a list of texts for an error message.
func quoted(texts []string) string {
	var b strings.Builder
	for i, t := range texts {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(strconv.Quote(t))
	}
	return b.String()
}
