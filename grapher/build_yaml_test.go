package grapher

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/proto"
)

const stopHosts = `
sequences:
  stop-hosts:
    request: true
    args:
      required:
        - name: hosts
          desc: Hosts to stop, with commas between them
      optional:
        - name: reason
          default: maintenance
        - name: token
          secret: true
          default: ""
    nodes:
      list-hosts:
        category: job
        type: split
        args:
          - expected: string
            given: hosts
        sets:
          - arg: list
            as: names
      stop:
        category: sequence
        type: stop-host
        each: [names:name]
        parallel: 2
        retry: 2
        retryWait: 30s
        args:
          - expected: token
        sets:
          - arg: upper
            as: stopped
            collect: true
        deps: [list-hosts]
      page-owner:
        category: conditional
        if: reason
        eq:
          emergency: page
          default: noop
        args:
          - expected: names
            given: stopped
        deps: [stop]
      report:
        category: job
        type: noop
        args:
          - expected: hosts
            given: stopped
        deps: [page-owner]
  stop-host:
    args:
      required: [{name: name}, {name: token, secret: true}]
    nodes:
      drain:
        category: job
        type: upper
        args: [{expected: text, given: name}]
        sets: [{arg: upper}]
      halt:
        category: job
        type: noop
        args: [{expected: name}, {expected: force, value: true}]
        deps: [drain]
  page:
    args:
      required: [{name: names}]
    nodes:
      mail: {category: job, type: noop, args: [{expected: names}]}
`

// From the text of a spec, and what a user gave, to the job chain.
func TestFromSpecToChain(t *testing.T) {
	t.Parallel()
	specs, problems := Parse(map[string][]byte{"stop.yaml": []byte(stopHosts)}, Options{Registry: buildRegistry(nil)})
	if problems.HasErrors() {
		t.Fatalf("Parse: %v", problems)
	}
	tests := []struct {
		name, reason, want string
	}{
		{
			//               ,- [drain --- halt] -.
			// list-hosts --    [drain --- halt]   -- report
			//               `- [drain --- halt] -'
			name: "nobody is paged", reason: "maintenance",
			want: lines("list-hosts-1 -> drain-3 drain-5 drain-7",
				"drain-3 -> halt-4", "halt-4 -> report-9", "drain-5 -> halt-6", "halt-6 -> report-9",
				"drain-7 -> halt-8", "halt-8 -> report-9", "report-9"),
		},
		{
			//               ,- [drain --- halt] -.
			// list-hosts --    [drain --- halt]   -- [mail] --- report
			//               `- [drain --- halt] -'
			name: "somebody is paged", reason: "emergency",
			want: lines("list-hosts-1 -> drain-3 drain-5 drain-7",
				"drain-3 -> halt-4", "halt-4 -> mail-9", "drain-5 -> halt-6", "halt-6 -> mail-9",
				"drain-7 -> halt-8", "halt-8 -> mail-9", "mail-9 -> report-a", "report-a"),
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			args, _, secrets, err := specs.RequestArgs("stop-hosts", proto.Values{"hosts": "a,b,c", "reason": tt.reason, "token": "hush"})
			if err != nil {
				t.Fatal(err)
			}
			jc, err := specs.Build(t.Context(), "req", "stop-hosts", args, secrets)
			if err != nil {
				t.Fatal(err)
			}
			checkChain(t, jc)
			if diff := cmp.Diff(tt.want, draw(jc)); diff != "" {
				t.Errorf("the graph differs (-want +got):\n%s", diff)
			}
			report := jobsNamed(jc, "report")[0]
			if diff := cmp.Diff(proto.Values{"hosts": []any{"A", "B", "C"}}, report.Args); diff != "" {
				t.Errorf("args of the report differ (-want +got):\n%s", diff)
			}
			if want := map[string]uint{"stop-2": 2}; !cmp.Equal(want, jc.Parallel) {
				t.Errorf("parallel groups %v, want %v", jc.Parallel, want)
			}
			if !cmp.Equal([]string{"hush"}, jc.Secrets) {
				t.Errorf("secrets %q, want the token", jc.Secrets)
			}
		})
	}
}
