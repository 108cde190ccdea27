package config

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
)

// envPrefix is what the names of all environment variables of keys start with.
const envPrefix = "TREADLE_"

// Key is one key of a configuration.
type Key struct {
	Path string // "server.addr"
	Env  string // "TREADLE_SERVER_ADDR"
	// Value is what it has now, as it would be written in a variable; a Secret is
	// masked.
	Value string

	field reflect.Value
}

// Keys returns all keys of the configuration that c points to, in the order of
// its fields. Like Load, it panics if c is no pointer to a struct with `yaml`
// tags: that is a mistake in the program.
func Keys(c any) []Key {
	return keys(nil, structOf(c), "")
}

func structOf(c any) reflect.Value {
	v := reflect.ValueOf(c)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("config: %T is no pointer to a struct", c))
	}
	return v.Elem()
}

func keys(to []Key, v reflect.Value, prefix string) []Key {
	for i := range v.NumField() {
		path := prefix + tag(v.Type().Field(i))
		if f := v.Field(i); isSection(f) {
			to = keys(to, f, path+".")
		} else {
			to = append(to, Key{Path: path, Env: envName(path), Value: text(f), field: f})
		}
	}
	return to
}

func tag(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	if name == "" {
		panic("config: field " + f.Name + " has no yaml tag")
	}
	return name
}

func envName(path string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(path, ".", "_"))
}

// isSection reports whether the field has keys below it and is no key itself.
func isSection(f reflect.Value) bool { return f.Kind() == reflect.Struct }

// text writes a value as set reads it.
func text(f reflect.Value) string {
	switch x := f.Interface().(type) {
	case time.Duration:
		return x.String()
	case []string:
		return strings.Join(x, ",")
	case map[string]string:
		var pairs []string
		for k, v := range x {
			pairs = append(pairs, k+"="+v)
		}
		slices.Sort(pairs)
		return strings.Join(pairs, ",")
	}
	return fmt.Sprint(f.Interface())
}

// set gives the field the value that s says. The error says what was expected;
// it repeats s only where s cannot be a secret.
func set(f reflect.Value, s string) error {
	if u, ok := f.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(s))
	}
	switch f.Interface().(type) {
	case time.Duration:
		d, err := time.ParseDuration(s)
		if err != nil {
			return fmt.Errorf("%q is not a duration such as 30s or 1h30m", s)
		}
		f.SetInt(int64(d))
		return nil
	case []string:
		f.Set(reflect.ValueOf(splitList(s)))
		return nil
	case map[string]string:
		m, err := splitPairs(s)
		if err != nil {
			return err
		}
		f.Set(reflect.ValueOf(m))
		return nil
	}
	return setPlain(f, s)
}

func setPlain(f reflect.Value, s string) error {
	switch f.Kind() {
	case reflect.String:
		f.SetString(s)
	case reflect.Bool:
		switch s {
		case "true", "false":
			f.SetBool(s == "true")
		default:
			return fmt.Errorf("%q is neither true nor false", s)
		}
	case reflect.Int:
		n, err := strconv.Atoi(s)
		if err != nil {
			return fmt.Errorf("%q is not a whole number", s)
		}
		f.SetInt(int64(n))
	case reflect.Uint:
		n, err := strconv.ParseUint(s, 10, 32)
		if err != nil {
			return fmt.Errorf("%q is not a whole number from 0 to 4294967295", s)
		}
		f.SetUint(n)
	default:
		panic(fmt.Sprintf("config: no key can have type %s", f.Type()))
	}
	return nil
}

// splitList reads "a, b". Empty elements are dropped.
func splitList(s string) []string {
	var out []string
	for e := range strings.SplitSeq(s, ",") {
		if e = strings.TrimSpace(e); e != "" {
			out = append(out, e)
		}
	}
	return out
}

// splitPairs reads "a=1, b=2".
func splitPairs(s string) (map[string]string, error) {
	out := map[string]string{}
	for _, e := range splitList(s) {
		k, v, ok := strings.Cut(e, "=")
		if k = strings.TrimSpace(k); !ok || k == "" {
			return nil, fmt.Errorf("%q is not name=value", e)
		}
		out[k] = strings.TrimSpace(v)
	}
	return out, nil
}
