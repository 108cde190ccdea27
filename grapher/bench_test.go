package grapher

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/treadle-run/treadle/grapher/internal/spectest"
	"github.com/treadle-run/treadle/grapher/spec"
)

// manySpecs returns files with sequences as people write them: some job nodes in
// a line, then an expanded call of another sequence, and a conditional.
func manySpecs(files, perFile, jobs int) map[string][]byte {
	out := map[string][]byte{}
	total := files * perFile
	for f := range files {
		var b strings.Builder
		b.WriteString("sequences:\n")
		for i := range perFile {
			writeSequence(&b, f*perFile+i, total, jobs)
		}
		out[fmt.Sprintf("team-%d/specs-%d.yaml", f%20, f)] = []byte(b.String())
	}
	return out
}

func writeSequence(b *strings.Builder, i, total, jobs int) {
	fmt.Fprintf(b, `  sequence-%d:
    request: true
    args:
      required:
        - name: host
          desc: "Host to work on"
      optional:
        - name: reason
          desc: "Shown in the audit log"
          default: maintenance
      static:
        - name: channel
          default: "#ops"
    acl:
      - role: eng
        admin: true
    nodes:
`, i)
	for n := range jobs {
		collect := ""
		if n > 0 { // it has an each
			collect = "\n            collect: true"
		}
		fmt.Fprintf(b, `      step-%d:
        category: job
        type: noop
        args:
          - expected: name
            given: host
          - expected: why
            given: reason
        sets:
          - arg: list
            as: list-%d%s
        retry: 2
        retryWait: 5s
`, n, n, collect)
		if n > 0 {
			fmt.Fprintf(b, "        each: [list-%d:x]\n        deps: [step-%d]\n", n-1, n-1)
		}
	}
	callee := i + 1 // no cycle: each calls a later one, the last a built-in one
	name, args := fmt.Sprintf("sequence-%d", callee), "[{expected: reason}]"
	if callee >= total {
		name = spec.NoopSequence
	}
	fmt.Fprintf(b, `      all:
        category: sequence
        type: %s
        args: %s
        each: [list-%d:host]
        parallel: 5
        deps: [step-%d]
      page:
        category: conditional
        if: reason
        eq:
          emergency: %s
          default: noop
        args: [{expected: host}]
        deps: [all]
`, name, args, jobs-1, jobs-1, name)
}

// BenchmarkLoad reads 5,000 sequences in 500 files, all that a Request Manager of
// a large company has. It reports what the specs keep of the heap, and by how much
// loading made it grow.
func BenchmarkLoad(b *testing.B) {
	for _, jobs := range []int{3, 8} {
		b.Run(fmt.Sprintf("nodes=%d", jobs+2), func(b *testing.B) { benchmarkLoad(b, jobs) })
	}
}

func benchmarkLoad(b *testing.B, jobs int) {
	dir := b.TempDir()
	size := 0
	for name, text := range manySpecs(500, 10, jobs) {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			b.Fatal(err)
		}
		size += len(text)
	}
	debug.FreeOSMemory()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.SetBytes(int64(size))
	b.ReportAllocs()
	var specs *Specs
	for b.Loop() {
		specs = nil
		s, problems, err := Load(dir, Options{Registry: spectest.JobTypes("noop")})
		if err != nil || len(problems) > 0 {
			b.Fatalf("%v\n%s", err, spectest.Show(problems[:min(5, len(problems))]))
		}
		specs = s
	}
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapSys-after.HeapReleased-before.HeapSys+before.HeapReleased)/(1<<20), "MiB-grown")
	runtime.GC()
	runtime.ReadMemStats(&after)
	b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/(1<<20), "MiB-kept")
	if len(specs.Sequences) != 5000 {
		b.Fatalf("%d sequences", len(specs.Sequences))
	}
}

// The largest sequence that fits in a file is checked without an array of nodes
// by nodes.
func BenchmarkParseWideSequence(b *testing.B) {
	var text strings.Builder
	text.WriteString("sequences:\n  s:\n    request: true\n    nodes:\n      all: {category: job, type: noop, sets: [{arg: x}]}\n")
	for i := range 40_000 {
		fmt.Fprintf(&text, "      n%d: {category: job, type: noop, deps: [all], args: [{expected: x}]}\n", i)
	}
	files := map[string][]byte{"a.yaml": []byte(text.String())}
	b.ReportAllocs()
	for b.Loop() {
		if _, problems := Parse(files, Options{}); problems.HasErrors() {
			b.Fatal(spectest.Show(problems))
		}
	}
}
