package grapher

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/grapher/internal/spectest"
	"github.com/treadle-run/treadle/proto"
)

const argsSpec = `
sequences:
  deploy:
    request: true
    args:
      required:
        - {name: app, desc: "What to deploy", pattern: "^[a-z-]+$"}
        - {name: hosts, type: list}
      optional:
        - {name: env, enum: [test, prod], default: test}
        - {name: percent, type: int, enum: [1, 10, 100], default: 10}
        - {name: ratio, type: float, default: 1}
        - {name: force, type: bool, default: false}
        - {name: opts, type: object, default: {}}
        - {name: token, secret: true, default: ""}
        - {name: pin, secret: true, type: int, enum: [1234, 4321], default: 1234}
        - {name: free, default: x}
      static:
        - {name: channel, default: "#ops"}
    nodes: {a: {category: job, type: noop}}
  inner:
    nodes: {a: {category: job, type: noop}}
  bare:
    request: true
    nodes: {a: {category: sequence, type: inner}}
`

func TestRequestArgsCompletes(t *testing.T) {
	t.Parallel()
	specs := mustParse(t, argsSpec)
	given := proto.Values{
		"app": "shop", "hosts": []any{"a"}, "ratio": int64(2), "percent": int64(100),
		"token": "t0p", "free": map[string]any{"n": int64(1) << 60},
	}
	all, list, secrets, err := specs.RequestArgs("deploy", given)
	if err != nil {
		t.Fatal(err)
	}
	want := proto.Values{
		"app": "shop", "hosts": []any{"a"}, "env": "test", "percent": int64(100), "ratio": 2.0, "force": false,
		"opts": map[string]any{}, "token": "t0p", "pin": int64(1234), "free": map[string]any{"n": int64(1) << 60}, "channel": "#ops",
	}
	if diff := cmp.Diff(want, all); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"t0p", "1234"}, secrets); diff != "" {
		t.Error(diff)
	}
	var names []string
	for _, a := range list {
		names = append(names, a.Name)
		if _, ok := given[a.Name]; ok != a.Given {
			t.Errorf("arg %s: Given is %v", a.Name, a.Given)
		}
		value := all[a.Name]
		if a.Secret {
			value = proto.SecretMask
		}
		if diff := cmp.Diff(value, a.Value); diff != "" {
			t.Errorf("arg %s: %s", a.Name, diff)
		}
	}
	if want := "app hosts env percent ratio force opts token pin free channel"; strings.Join(names, " ") != want {
		t.Errorf("args are %v", names)
	}
	shown, err := json.Marshal(list)
	if err != nil || strings.Contains(string(shown), "t0p") || strings.Contains(string(shown), "1234") {
		t.Errorf("a secret is shown: %s, %v", shown, err)
	}
}

// What one request does to its defaults, the next one does not see.
func TestRequestArgsCopiesDefaults(t *testing.T) {
	t.Parallel()
	specs := mustParse(t, argsSpec)
	given := proto.Values{"app": "shop", "hosts": []any{}}
	first, _, _, err := specs.RequestArgs("deploy", given)
	if err != nil {
		t.Fatal(err)
	}
	first["opts"].(map[string]any)["k"] = "v"
	second, _, _, err := specs.RequestArgs("deploy", given)
	if err != nil || len(second["opts"].(map[string]any)) != 0 {
		t.Errorf("the second request has opts %v, %v", second["opts"], err)
	}
}

func TestRequestArgsRefuses(t *testing.T) {
	t.Parallel()
	specs := mustParse(t, argsSpec)
	good := proto.Values{"app": "shop", "hosts": []any{}}
	tests := []struct {
		name    string
		request string
		change  proto.Values // of good; nil takes away
		want    string
	}{
		{"unknown request", "deploi", nil, "unknown request type `deploi`, did you mean `deploy`?"},
		{"no request", "inner", nil, "unknown request type `inner`"},
		{"no name", "", nil, "which request? Type is missing"},
		{"missing", "deploy", proto.Values{"app": nil}, "arg `app` is required, and not given (What to deploy)"},
		{"unknown", "deploy", proto.Values{"host": "a"}, "arg `host` is unknown, did you mean `hosts`?"},
		{"unknown, none near", "deploy", proto.Values{"verbosity": "a"}, "arg `verbosity` is unknown: the request takes `app`, `hosts`, `env`, `percent`, `ratio`, `force`, `opts`, `token`, `pin`, `free`"},
		{"none known", "bare", nil, "arg `app` is unknown: the request takes no args; arg `hosts` is unknown: the request takes no args"},
		{"static", "deploy", proto.Values{"channel": "#dev"}, "arg `channel` is static: it cannot be given"},
		{"pattern", "deploy", proto.Values{"app": "shop; rm"}, "arg `app` must match `^[a-z-]+$`, and the string `shop; rm` does not"},
		{"pattern of another type", "deploy", proto.Values{"app": int64(1)}, "arg `app` must be a string that matches `^[a-z-]+$`, not 1"},
		{"list", "deploy", proto.Values{"hosts": "a,b"}, "arg `hosts` must be a list, not the string `a,b`"},
		{"enum", "deploy", proto.Values{"env": "qa"}, "arg `env` must be one of `test`, `prod`, not the string `qa`"},
		{"int as a string", "deploy", proto.Values{"percent": "010"}, "arg `percent` must be a whole number (int), not the string `010`"},
		{"int as a fraction", "deploy", proto.Values{"percent": 1.5}, "arg `percent` must be a whole number (int), not 1.5"},
		{"int with a point", "deploy", proto.Values{"percent": 10.0}, "arg `percent` must be a whole number (int), not 10.0"},
		{"int enum", "deploy", proto.Values{"percent": int64(11)}, "arg `percent` must be one of `1`, `10`, `100`, not 11"},
		{"float", "deploy", proto.Values{"ratio": true}, "arg `ratio` must be a number (float), not true"},
		{"bool", "deploy", proto.Values{"force": "yes"}, "arg `force` must be true or false (bool), not the string `yes`"},
		{"object", "deploy", proto.Values{"opts": []any{}}, "arg `opts` must be an object, not a list"},
		{"secret", "deploy", proto.Values{"pin": int64(9999)}, "arg `pin` is none of the values that are allowed"},
		{"secret type", "deploy", proto.Values{"pin": "hunter2"}, "arg `pin` must be a whole number (int), not the secret that is given"},
		{"all at once", "deploy", proto.Values{"app": nil, "channel": "x", "force": int64(1), "frce": "x"},
			"arg `app` is required, and not given (What to deploy); arg `force` must be true or false (bool), not 1; " +
				"arg `channel` is static: it cannot be given; arg `frce` is unknown, did you mean `force`?"},
	}
	for _, test := range tests {
		given := good.Clone()
		for k, v := range test.change {
			if given[k] = v; v == nil {
				delete(given, k)
			}
		}
		_, _, _, err := specs.RequestArgs(test.request, given)
		e, ok := errors.AsType[*proto.Error](err)
		if !ok || e.Code != proto.CodeInvalid {
			t.Errorf("%s: error is %v", test.name, err)
			continue
		}
		if got := strings.TrimPrefix(e.Message, "request `"+test.request+"`: "); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.name, got, test.want)
		}
	}
}

// Null is a value like any other where nothing else is asked for.
func TestRequestArgsNull(t *testing.T) {
	t.Parallel()
	specs := mustParse(t, argsSpec)
	given := proto.Values{"app": "shop", "hosts": []any{}, "free": nil}
	all, _, _, err := specs.RequestArgs("deploy", given)
	if x, ok := all["free"]; err != nil || !ok || x != nil {
		t.Errorf("free is %v, %v, %v", x, ok, err)
	}
	given["hosts"] = nil
	if _, _, _, err = specs.RequestArgs("deploy", given); err == nil || !strings.Contains(err.Error(), "arg `hosts` must be a list, not null") {
		t.Errorf("null for a list: %v", err)
	}
}

func TestRequests(t *testing.T) {
	t.Parallel()
	requests := mustParse(t, argsSpec).Requests()
	if len(requests) != 2 || requests[0].Name != "bare" || requests[1].Name != "deploy" {
		t.Fatalf("requests are %v", requests)
	}
	if requests[0].Args == nil {
		t.Error("a request without args has null, want an empty list")
	}
	i := slices.IndexFunc(requests[1].Args, func(a proto.RequestArg) bool { return a.Name == "percent" })
	want := proto.RequestArg{Pos: 1, Name: "percent", Type: proto.ArgOptional, Default: int64(10), ValueType: "int", Enum: []any{int64(1), int64(10), int64(100)}}
	if diff := cmp.Diff(want, requests[1].Args[i]); diff != "" {
		t.Error(diff)
	}
	if shown, err := json.Marshal(requests); err != nil || strings.Contains(string(shown), "1234") {
		t.Errorf("a secret default is shown: %s, %v", shown, err)
	}
}

func TestSecretTexts(t *testing.T) {
	t.Parallel()
	tests := []struct {
		value any
		want  []string
	}{
		{"", nil}, {nil, nil}, {[]any{}, nil}, {map[string]any{}, nil},
		{"a", []string{"a"}},
		{int64(7), []string{"7"}},
		{[]any{"a", int64(1), ""}, []string{"a", `["a",1,""]`}},
		{map[string]any{"k": []any{"b"}}, []string{"b", `["b"]`, `{"k":["b"]}`}},
	}
	for _, test := range tests {
		if diff := cmp.Diff(test.want, appendTexts(nil, test.value)); diff != "" {
			t.Errorf("%v: %s", test.value, diff)
		}
	}
}

// The rules of a sequence's args hold for what nodes give to it, too.
func TestBuildChecksArgsOfCalledSequences(t *testing.T) {
	t.Parallel()
	specs, problems := Parse(map[string][]byte{"a.yaml": []byte(`
sequences:
  s:
    request: true
    args: {required: [{name: x}]}
    nodes:
      a: {category: sequence, type: typed, args: [{expected: n, given: x}]}
  typed:
    args: {optional: [{name: n, type: float, default: 1}]}
    nodes: {j: {category: job, type: noop, args: [{expected: n}]}}
`)}, Options{Registry: buildRegistry(nil)})
	if specs == nil {
		t.Fatal(spectest.Show(problems))
	}
	_, err := specs.Build(t.Context(), "r", "s", proto.Values{"x": "many"}, nil)
	want := "sequence s, node a (a.yaml:7): arg n of sequence typed must be a number (float), not the string `many`"
	if e, ok := errors.AsType[*proto.Error](err); !ok || e.Code != proto.CodeUnprocessable || e.Message != want {
		t.Errorf("Build: %v", err)
	}
	chain, err := specs.Build(t.Context(), "r", "s", proto.Values{"x": int64(2)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range chain.Jobs {
		if j.Args["n"] != 2.0 {
			t.Errorf("the job has n %v, want the float 2", j.Args["n"])
		}
	}
}
