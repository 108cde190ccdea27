package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// specsDir has the requests of the workloads, seen from the root of the module.
const specsDir = "test/load/specs"

func createBody(requestType string, args map[string]any) []byte {
	b, err := json.Marshal(map[string]any{"Type": requestType, "Args": args})
	if err != nil {
		panic(err) // args are made here
	}
	return b
}

func numbers(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// lineSpecs is specsDir with one more request, a line of n jobs.
func lineSpecs(n int) (dir string, remove func(), err error) {
	var b strings.Builder
	b.WriteString("sequences:\n  line:\n    request: true\n    nodes:\n")
	for i := range n {
		fmt.Fprintf(&b, "      n%04d: {category: job, type: noop", i)
		if i > 0 {
			fmt.Fprintf(&b, ", deps: [n%04d]", i-1)
		}
		b.WriteString("}\n")
	}
	load, err := os.ReadFile(filepath.Join(specsDir, "load.yaml"))
	if err != nil {
		return "", nil, err
	}
	return writeSpecs(map[string]string{"line.yaml": b.String(), "load.yaml": string(load)})
}

// manySpecs has files with sequences of a few nodes that call each other.
func manySpecs(files, perFile int) (dir string, remove func(), err error) {
	specs := map[string]string{}
	for f := range files {
		var b strings.Builder
		b.WriteString("sequences:\n")
		for i := range perFile {
			fmt.Fprintf(&b, "  seq-%d-%d:\n    request: true\n    args:\n      required:\n        - name: host\n      optional:\n        - {name: reason, default: none}\n", f, i)
			b.WriteString("    nodes:\n" +
				"      list: {category: job, type: split, args: [{expected: string, given: host}, {expected: separator, value: \",\"}], sets: [{arg: list, as: hosts}]}\n" +
				"      drain: {category: job, type: noop, each: [\"hosts:target\"], parallel: 5, deps: [list]}\n" +
				"      check: {category: job, type: noop, deps: [drain], retry: 2, retryWait: 1s, args: [{expected: reason}]}\n")
			if i > 0 {
				fmt.Fprintf(&b, "      next: {category: sequence, type: seq-%d-%d, deps: [check], args: [{expected: host}]}\n", f, i-1)
			}
		}
		specs[fmt.Sprintf("team-%d/file-%d.yaml", f%20, f)] = b.String()
	}
	return writeSpecs(specs)
}

func writeSpecs(files map[string]string) (dir string, remove func(), err error) {
	if dir, err = os.MkdirTemp("", "treadle-load-"); err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err = os.MkdirAll(filepath.Dir(path), 0o755); err == nil {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			remove()
			return "", nil, err
		}
	}
	return dir, remove, nil
}
