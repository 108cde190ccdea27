package cmd

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/treadle-run/treadle/proto"
)

// withSpecs runs a verb that needs no Request Manager on specs in a directory of
// their own; DIR in args is that directory.
func withSpecs(t *testing.T, spec string, env map[string]string, args ...string) result {
	t.Helper()
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "a.yaml"), spec)
	for i := range args {
		args[i] = strings.ReplaceAll(args[i], "DIR", dir)
	}
	for k, v := range env {
		env[k] = strings.ReplaceAll(v, "DIR", dir)
	}
	return (&fake{}).treadleWith(t.Context(), env, "", args...)
}

// A request "go" of this shape:
//
//	      +-> work (app a) -+
//	list -+                 +-> end
//	      +-> work (app b) -+
const goodSpec = `sequences:
  go:
    request: true
    args:
      required:
        - name: apps
          type: list
      optional:
        - name: token
          default: ""
          secret: true
    nodes:
      first:
        category: job
        type: noop
      each-app:
        category: sequence
        type: one
        each: [apps:app]
        parallel: 1
        args:
          - expected: token
        deps: [first]
        retry: 1
        retryWait: 5s
      end:
        category: job
        type: noop
        deps: [each-app]
  one:
    args:
      required:
        - name: app
        - name: token
    nodes:
      work:
        category: job
        type: shell
        args:
          - expected: app
          - expected: token
          - expected: script
            value: echo "$app"
        retry: 3
        timeout: 1m
`

const badSpec = `sequences:
  go:
    request: true
    nodes:
      a:
        category: job
        type: nope
        bananas: 1
`

func TestLintExitsOneOnErrorsAndCountsThem(t *testing.T) {
	t.Parallel()
	good := withSpecs(t, goodSpec, nil, "lint", "DIR")
	if good.code != 0 || good.stdout != "2 sequences, 1 request: 0 errors, 0 warnings\n" {
		t.Errorf("good specs: exit code %d: %s%s", good.code, good.stdout, good.stderr)
	}
	bad := withSpecs(t, badSpec, nil, "lint", "DIR")
	if bad.code != 1 {
		t.Errorf("bad specs: exit code %d", bad.code)
	}
	has(t, "lint", bad.stdout, "a.yaml:8: error: ", "(unknown-field)", "a.yaml:7: error: ", "2 errors, 0 warnings\n")

	asJSON := withSpecs(t, badSpec, nil, "lint", "DIR", "--output", "json")
	var problems []struct {
		File, Check, Severity string
		Line                  int
	}
	if err := json.Unmarshal([]byte(asJSON.stdout), &problems); err != nil || len(problems) != 2 || asJSON.code != 1 {
		t.Fatalf("exit code %d, %v: %s", asJSON.code, err, asJSON.stdout)
	}
	if p := problems[1]; p.File != "a.yaml" || p.Line != 8 || p.Check != "unknown-field" || p.Severity != "error" {
		t.Errorf("got %+v", p)
	}
	if none := withSpecs(t, goodSpec, nil, "lint", "DIR", "--output", "json"); none.stdout != "[]\n" {
		t.Errorf("no problems as JSON: %q", none.stdout)
	}
}

// Lint knows what the job types of this program take.
func TestLintChecksTheArgsOfJobs(t *testing.T) {
	t.Parallel()
	bad := withSpecs(t, `sequences:
  go:
    request: true
    args: {required: [{name: hosts}]}
    nodes:
      a:
        category: job
        type: split
        args:
          - expected: string
            given: hosts
          - expected: seperator
            value: ";"
      b: {category: job, type: sleep, args: [{expected: duration, value: 10}]}
`, nil, "lint", "DIR")
	if bad.code != 1 {
		t.Errorf("exit code %d", bad.code)
	}
	has(t, "lint", bad.stdout,
		"a.yaml:12: error: sequence go, node a: job type `split` does not take arg `seperator`, did you mean `separator`? (unknown-arg)\n",
		"a.yaml:14: error: sequence go, node b: arg `duration` of job type `sleep`: expected a duration", "write \"10s\" for seconds (job-arg)\n", "2 errors, 0 warnings\n")
}

func TestLintChecksApps(t *testing.T) {
	t.Parallel()
	good := withSpecs(t, goodSpec+"apps:\n  a: {request: go, args: {apps: [x]}, starts: hourly}\n  b: {request: go, args: {apps: [x]}, depends: {a: daily}}\n", nil, "lint", "DIR")
	if good.code != 0 || good.stdout != "2 sequences, 1 request, 2 apps: 0 errors, 0 warnings\n" {
		t.Errorf("good apps: exit code %d: %s%s", good.code, good.stdout, good.stderr)
	}
	spec := "apps:\n  a:\n    request: go\n    args: {apps: [x]}\n    cron: 0 0 31 2 *\n" + goodSpec
	bad := withSpecs(t, spec, nil, "lint", "DIR")
	if bad.code != 1 {
		t.Errorf("bad apps: exit code %d", bad.code)
	}
	has(t, "lint", bad.stdout, "a.yaml:5: error: app a: `cron` is `0 0 31 2 *`, a time that never comes (app-never)\n", "1 error, 0 warnings\n")
	has(t, "lint", withSpecs(t, spec, nil, "lint", "DIR", "--output", "json").stdout, `"app": "a"`)
}

func TestLintTakesItsDefaultsFromTheConfiguration(t *testing.T) {
	t.Parallel()
	spec := strings.Replace(badSpec, "nope", "noop", 1)
	for name, r := range map[string]result{
		"flag":        withSpecs(t, spec, nil, "lint", "DIR", "--warn", "unknown-field"),
		"environment": withSpecs(t, spec, map[string]string{"TREADLE_SPECS_DIR": "DIR", "TREADLE_SPECS_WARN": "unknown-field"}, "lint"),
	} {
		if r.code != 0 {
			t.Errorf("%s: exit code %d: %s", name, r.code, r.stderr)
		}
		has(t, name, r.stdout, "a.yaml:8: warning: ", "0 errors, 1 warning\n")
	}
	if r := withSpecs(t, spec, nil, "lint", "DIR/none"); r.code != 2 {
		t.Errorf("no such directory: exit code %d", r.code)
	}
}

func TestGraphShowsTheChain(t *testing.T) {
	t.Parallel()
	r := withSpecs(t, goodSpec, nil, "graph", "go", "apps=a,b", "--specs", "DIR")
	if r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.stderr)
	}
	var got []string
	for l := range strings.SplitSeq(strings.TrimSpace(r.stdout), "\n") {
		got = append(got, strings.Join(strings.Fields(l), " "))
	}
	want := []string{
		"go: 4 jobs, 3 levels, 3 sequences", "",
		"LEVEL JOB TYPE AFTER RETRY SEQUENCE",
		"1 first-1 noop - - go",
		"2 work-3 shell first-1 3, timeout 1m0s go > one",
		"2 work-4 shell first-1 3, timeout 1m0s go > one",
		"3 end-5 noop work-3 work-4 - go", "",
		"SEQUENCE FIRST JOB RETRY TIMEOUT PARALLEL",
		"go > one work-3 1, every 5s - 1 at a time (each-app-2)",
		"go > one work-4 1, every 5s - 1 at a time (each-app-2)",
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got:\n%s\nwant:\n%s", g, w)
	}
}

func TestGraphAsJSONIsTheChainWithoutSecrets(t *testing.T) {
	t.Parallel()
	r := withSpecs(t, goodSpec, nil, "graph", "go", "apps=a", "token=s3cret", "--specs", "DIR", "--output", "json")
	var jc proto.JobChain
	if err := json.Unmarshal([]byte(r.stdout), &jc); err != nil {
		t.Fatalf("%v: %s", err, r.stderr)
	}
	if len(jc.Jobs) != 3 || jc.Jobs["work-2"] == nil || jc.Jobs["work-2"].Args["app"] != "a" || jc.Jobs["work-2"].Args["token"] != proto.SecretMask {
		t.Errorf("got %s", r.stdout)
	}
	if strings.Contains(r.stdout, "s3cret") {
		t.Errorf("the chain shows the secret: %s", r.stdout)
	}
}

func TestGraphSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		spec string
		args []string
		code int
		want string
	}{
		{badSpec, []string{"go"}, 1, "a.yaml:8: error: "},
		{goodSpec, []string{"goo"}, 2, `unknown request type "goo", did you mean go?`},
		{goodSpec, []string{"nope"}, 2, `unknown request type "nope"; the specs have go`},
		{"sequences: {}", []string{"nope"}, 2, `unknown request type "nope"; no sequence of the specs has request: true`},
		{goodSpec, []string{"go"}, 2, "apps"},
		{goodSpec, []string{"go", "apps:={}"}, 2, "apps"},
	} {
		r := withSpecs(t, tt.spec, map[string]string{"TREADLE_SPECS_DIR": "DIR"}, append([]string{"graph"}, tt.args...)...)
		if r.code != tt.code {
			t.Errorf("%v: exit code %d, want %d", tt.args, r.code, tt.code)
		}
		has(t, "stderr", r.stderr, tt.want)
	}
}
