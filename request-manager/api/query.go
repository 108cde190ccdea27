package api

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"github.com/treadle-run/treadle/proto"
)

// parseQuery reads the query, which may have these keys; those with a star may be
// repeated. Errors name the key.
func parseQuery(c echo.Context, keys ...string) (url.Values, error) {
	return queryOf(c.Request().URL.RawQuery, keys...)
}

func queryOf(query string, keys ...string) (url.Values, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return nil, proto.Errorf(proto.CodeInvalid, "malformed query: %s", err)
	}
	for key, vs := range values {
		for _, v := range vs {
			if !utf8.ValidString(v) || strings.Contains(v, "\x00") {
				return nil, proto.Errorf(proto.CodeInvalid, "%s: expected UTF-8 text without zero bytes", key)
			}
		}
		switch {
		case slices.Contains(keys, key+"*"):
		case !slices.Contains(keys, key):
			return nil, unknownKey(key, keys)
		case len(vs) > 1:
			return nil, proto.Errorf(proto.CodeInvalid, "%s: given %d times, expected once", key, len(vs))
		}
	}
	return values, nil
}

func unknownKey(key string, keys []string) error {
	if len(keys) == 0 {
		return proto.Errorf(proto.CodeInvalid, "unknown query key %q: none is known here", key)
	}
	names := strings.ReplaceAll(strings.Join(keys, ", "), "*", "")
	return proto.Errorf(proto.CodeInvalid, "unknown query key %q: expected one of %s", key, names)
}

// parseFilter reads the query of a list of requests. An empty value is as good as
// none. Errors name the key and what was expected.
func parseFilter(query string) (proto.RequestFilter, error) {
	var f proto.RequestFilter
	values, err := queryOf(query, "type", "user", "state*", "arg*", "since", "until", "limit", "offset")
	if err != nil {
		return f, err
	}
	f.Type, f.User = values.Get("type"), values.Get("user")
	if name, ok := userName(f.User); ok {
		f.User = name
	}
	if f.States, err = parseStates(values["state"]); err != nil {
		return f, err
	}
	if f.Args, err = parseArgs(values["arg"]); err != nil {
		return f, err
	}
	if f.Since, err = parseTime(values, "since"); err != nil {
		return f, err
	}
	if f.Until, err = parseTime(values, "until"); err != nil {
		return f, err
	}
	if f.Limit, err = parseCount(values, "limit"); err != nil {
		return f, err
	}
	if f.Offset, err = parseCount(values, "offset"); err != nil {
		return f, err
	}
	if f.Offset > 0 && f.Limit == 0 {
		f.Limit = math.MaxInt32 // all that are left
	}
	return f, nil
}

// stateReserved is a number that no state has.
const stateReserved proto.State = 5

func parseStates(names []string) ([]proto.State, error) {
	var states []proto.State
	for _, name := range names {
		if name == "" {
			continue
		}
		s, err := proto.ParseState(name)
		switch name { // names of the v1 API, of states that no request is in
		case "UNKNOWN":
			s, err = proto.StateUnknown, nil
		case "RESERVED":
			s, err = stateReserved, nil
		}
		if err != nil {
			return nil, proto.Errorf(proto.CodeInvalid, "state: %s", err)
		}
		if !slices.Contains(states, s) {
			states = append(states, s)
		}
	}
	return states, nil
}

// maxArgs is the limit of the args that one list is filtered by: each is a table more in
// its statement.
const maxArgs = 20

func parseArgs(pairs []string) (map[string]string, error) {
	var args map[string]string
	for _, pair := range pairs {
		if pair == "" {
			continue
		}
		name, value, ok := strings.Cut(pair, "=")
		if !ok || name == "" {
			return nil, proto.Errorf(proto.CodeInvalid, "arg: expected name=value, got %q", pair)
		}
		if was, twice := args[name]; twice && was != value {
			return nil, proto.Errorf(proto.CodeInvalid, "arg: %q is given twice with different values: no request has both", name)
		}
		if args == nil {
			args = map[string]string{}
		}
		args[name] = value
		if len(args) > maxArgs {
			return nil, proto.Errorf(proto.CodeInvalid, "arg: expected at most %d different names", maxArgs)
		}
	}
	return args, nil
}

func parseTime(values url.Values, key string) (time.Time, error) {
	text := values.Get(key)
	if text == "" {
		return time.Time{}, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}, proto.Errorf(proto.CodeInvalid, "%s: expected a time such as 2006-01-02T15:04:05.999999Z, got %q", key, text)
	}
	return t.UTC(), nil
}

func parseCount(values url.Values, key string) (uint, error) {
	text := values.Get(key)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, proto.Errorf(proto.CodeInvalid, "%s: expected a whole number from 0 on, got %q", key, text)
	}
	return uint(n), nil
}

// parseID reads a number that names something; 0 if there is none.
func parseID(values url.Values, key string) (uint64, error) {
	text := values.Get(key)
	if text == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, proto.Errorf(proto.CodeInvalid, "%s: expected the id of an event, got %q", key, text)
	}
	return n, nil
}
