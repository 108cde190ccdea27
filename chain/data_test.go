package chain

import (
	"math"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/treadle-run/treadle/proto"
)

func (p *play) sees(id string, want proto.Values) {
	p.t.Helper()
	if diff := gocmp.Diff(want, p.starts[id].Data); diff != "" {
		p.t.Fatalf("%s sees other data (-want +got):\n%s", id, diff)
	}
}

// The first job has the last id:
//
//	z --> b --> d
//	  \-> c --/
func TestDataComesInTheOrderOfJobIDs(t *testing.T) {
	t.Parallel()
	for _, handOver := range []bool{false, true} {
		p := newPlay(t, graphOf("z -> b -> d\nz -> c -> d", nil))
		p.next("z")
		p.sees("z", nil)
		p.sets("z", proto.Values{"x": "z", "y": "z", "only z": true})
		p.next("b c")
		p.sees("c", proto.Values{"x": "z", "y": "z", "only z": true})
		// c ends first, but b comes first: c sees y of z, which wins over that of b.
		p.sets("c", proto.Values{"x": "c"})
		p.sets("b", proto.Values{"x": "b", "y": "b"})
		if handOver {
			p.handOver()
		}
		p.next("d")
		p.sees("d", proto.Values{"x": "c", "y": "z", "only z": true})
	}
}

// a --> |joint| --> b, c
func TestDataPassesThroughStructuralJobsWithoutACopy(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("a -> joint -> b\njoint -> c", func(jc *proto.JobChain) { jc.Jobs["joint"].Structural = true }))
	p.next("a")
	data := proto.Values{"k": "v"}
	p.sets("a", data)
	p.next("b c")
	p.sees("b", data)
	data["seen by"] = "both"
	if p.starts["b"].Data["seen by"] != "both" || p.starts["c"].Data["seen by"] != "both" {
		t.Fatal("data was copied where one map would do")
	}
}

// a --> b --> c
func TestTypesOfDataSurvive(t *testing.T) {
	t.Parallel()
	want := proto.Values{
		"int": int64(3), "big": int64(math.MaxInt64), "huge": uint64(math.MaxUint64), "float": 3.0,
		"string": "3", "bool": true, "null": nil, "list": []any{int64(1), 1.5}, "object": map[string]any{"n": int64(7)},
	}
	p := newPlay(t, graphOf("a -> b -> c", nil))
	p.next("a")
	p.sets("a", want)
	p.handOver()
	p.next("b")
	p.sees("b", want)
	p.completes("b")
	p.crash()
	p.next("c")
	p.sees("c", want)
}

// a --> seq[ b --> c ]     what a set is needed again when seq starts again
func TestDataIsComputedAgainForASequenceThatStartsAgain(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("r -> a -> b -> c", func(jc *proto.JobChain) {
		jc.Sequences["seq"] = &proto.Sequence{Name: "seq", Parent: "main", Retry: 1}
		move(jc, "seq", "b", "c")
	}))
	p.next("r")
	p.sets("r", proto.Values{"r": "r"})
	p.next("a")
	p.sets("a", proto.Values{"a": "a"})
	p.next("b")
	p.sets("b", proto.Values{"b": "b"})
	p.next("c")
	p.sees("c", proto.Values{"r": "r", "a": "a", "b": "b"})
	p.fails("c")
	p.next("b")
	p.sees("b", proto.Values{"r": "r", "a": "a"})
	p.completes("b")
	p.next("c")
	p.sees("c", proto.Values{"r": "r", "a": "a"})
}

// a --> b
func TestOnlyACompleteTrySetsData(t *testing.T) {
	t.Parallel()
	p := newPlay(t, graphOf("a -> b", func(jc *proto.JobChain) { jc.Jobs["a"].Retry = 1 }))
	p.next("a")
	e := p.entry("a", proto.StateFail)
	e.Data = proto.Values{"half": "done"}
	p.apply(e)
	p.next("a")
	p.completes("a")
	p.next("b")
	p.sees("b", nil)
}
