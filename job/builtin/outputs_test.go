package builtin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/job"
)

func TestOutputsBecomeJobData(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, script string
		want         job.Values
	}{
		{"none", ":", nil},
		{"blank", `echo >$TREADLE_OUTPUT`, nil},
		{"lines", `echo host=db1 >>"$TREADLE_OUTPUT"; echo; echo "n=3" >>"$TREADLE_OUTPUT"`, job.Values{"host": "db1", "n": "3"}},
		{"the last one counts", `printf 'a=1\na=2\n' >$TREADLE_OUTPUT`, job.Values{"a": "2"}},
		{"value with = and spaces", `printf 'a= b=c ' >$TREADLE_OUTPUT`, job.Values{"a": " b=c "}},
		{"empty value", `echo a= >$TREADLE_OUTPUT`, job.Values{"a": ""}},
		{"unicode", `echo 'größe=日本 🙂' >$TREADLE_OUTPUT`, job.Values{"größe": "日本 🙂"}},
		{"JSON at the bounds", `echo '{"max": 18446744073709551615, "min": -9223372036854775808}' >$TREADLE_OUTPUT`, job.Values{"max": uint64(1<<64 - 1), "min": int64(-1 << 63)}},
		{"JSON", `printf '\n { "n": 3, "f": 3.0, "big": 9007199254740993, "l": ["a", null],\n "o": {"t": true} } \n' >$TREADLE_OUTPUT`, job.Values{
			"n": int64(3), "f": 3.0, "big": int64(9007199254740993), "l": []any{"a", nil}, "o": map[string]any{"t": true},
		}},
		{"empty object", `echo '{}' >$TREADLE_OUTPUT`, nil},
		{"CRLF", `printf 'a=1\r\n\r\nb= 2 \r\nc=\r3' >$TREADLE_OUTPUT`, job.Values{"a": "1", "b": " 2 ", "c": "\r3"}},
		{"byte order mark", `printf '\357\273\277a=1\n' >$TREADLE_OUTPUT`, job.Values{"a": "1"}},
		{"both, appended", `printf '\357\273\277a=1\r\n' >$TREADLE_OUTPUT; printf '\357\273\277b=2\r\n' >>$TREADLE_OUTPUT`, job.Values{"a": "1", "b": "2"}},
		{"nothing but a mark", `printf '\357\273\277\r\n' >$TREADLE_OUTPUT`, nil},
		{"JSON with both", `printf '\357\273\277{\r\n"a": 1,\r\n"b": "x\\r"}\r\n' >$TREADLE_OUTPUT`, job.Values{"a": int64(1), "b": "x\r"}},
		{"replaced file", `echo a=1 >$TREADLE_OUTPUT.new; mv $TREADLE_OUTPUT.new $TREADLE_OUTPUT`, job.Values{"a": "1"}},
		{"removed file", `rm $TREADLE_OUTPUT`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res, err := script(t, tt.script, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, res.Data); diff != "" {
				t.Errorf("job data (-want +got):\n%s", diff)
			}
		})
	}
}

// A secret with several lines, or with quotes, is not what a masker looks for
// once it was cut up or quoted.
func TestErrorsOfOutputsDoNotShowThem(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"key2 of several lines", `a"key`, "key with=value", strings.Repeat("key", 100)} {
		_, err := script(t, `printf '%s\n' "$line" >$TREADLE_OUTPUT`, job.Values{"line": line}, nil)
		wantError(t, err, "TREADLE_OUTPUT: line 1: ")
		if msg := err.Error(); strings.Contains(strings.ReplaceAll(msg, "key=value", ""), "key") {
			t.Errorf("the error shows what was written: %s", msg)
		}
	}
}

func TestBadOutputsFailTheTry(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, script, says string }{
		{"no =", `printf 'a=1\n\nhello there\n' >$TREADLE_OUTPUT`, `TREADLE_OUTPUT: line 3: expected key=value`},
		{"no key", `echo =1 >$TREADLE_OUTPUT`, `line 1: a name must have`},
		{"space in key", `echo 'a b=1' >$TREADLE_OUTPUT`, `line 1: a name must have`},
		{"JSON list", `echo '[1]' >$TREADLE_OUTPUT`, "line 1: expected key=value"},
		{"JSON cut off", `printf '{\n"a": 1,\n' >$TREADLE_OUTPUT`, "line 2: not one JSON object"},
		{"JSON mistake", `printf '\n{\n"a": 1,\n"b" 2,\n"c": 3\n}' >$TREADLE_OUTPUT`, "line 4: not one JSON object: invalid character '2'"},
		{"JSON key twice", `echo '{"a": 1, "a": 2}' >$TREADLE_OUTPUT`, "TREADLE_OUTPUT: a key is given twice"},
		{"JSON key twice, deep", `echo '{"a": [{"b": 1, "b": 1}]}' >$TREADLE_OUTPUT`, "TREADLE_OUTPUT: a[0]: a key is given twice"},
		{"JSON number beyond 64 bits", `echo '{"a": {"n": 18446744073709551616}}' >$TREADLE_OUTPUT`, "TREADLE_OUTPUT: a.n: a whole number is beyond 64 bits; only a string can hold it"},
		{"two objects", `printf '{}\n{}\n' >$TREADLE_OUTPUT`, "line 2: not one JSON object: more than one JSON value"},
		{"JSON key", `echo '{"a b": 1}' >$TREADLE_OUTPUT`, `a name must have`},
		{"not UTF-8", `printf 'a=1\nb=\377\n' >$TREADLE_OUTPUT`, "line 2: not UTF-8"},
		{"UTF-16", `printf '\377\376a\0=\0001\0' >$TREADLE_OUTPUT`, "is UTF-16; expected UTF-8"},
		{"CRLF and a mistake", `printf 'a=1\r\nhello\r\n' >$TREADLE_OUTPUT`, "line 2: expected key=value"},
		{"too large", `head -c 1048577 /dev/zero >$TREADLE_OUTPUT`, "has 1048577 bytes, at most 1048576 are allowed"},
		{"pipe", `rm $TREADLE_OUTPUT; mkfifo $TREADLE_OUTPUT`, "no longer a plain file"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			res, err := script(t, "echo out; "+tt.script, nil, nil)
			wantError(t, err, tt.says)
			if res.Data != nil {
				t.Errorf("job data of a failed try: %v", res.Data)
			}
			if string(res.Stdout) != "out\n" {
				t.Errorf("stdout %q is not kept", res.Stdout)
			}
		})
	}
}

func TestTheOutputsFileIsPrivateAndRemoved(t *testing.T) {
	t.Parallel()
	res, err := script(t, `stat -c %a "$TREADLE_OUTPUT"; echo "$TREADLE_OUTPUT"`, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	mode, path, _ := strings.Cut(strings.TrimSpace(string(res.Stdout)), "\n")
	if mode != "600" {
		t.Errorf("mode %s", mode)
	}
	res, err = script(t, `test ! -e "$old"`, job.Values{"old": path}, nil)
	if err != nil {
		t.Errorf("%s is still there: %v %s", path, err, res.Stderr)
	}
}

func TestAFailedTrySetsNoData(t *testing.T) {
	t.Parallel()
	res, err := script(t, `echo a=1 >$TREADLE_OUTPUT; exit 1`, nil, nil)
	if err == nil || res.Data != nil {
		t.Errorf("got %v, %v", res.Data, err)
	}
}
