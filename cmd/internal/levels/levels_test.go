package levels

import (
	"strings"
	"testing"

	"github.com/treadle-run/treadle/proto"
)

// A chain with a joint:
//
//	a-1 -+         +-> d-4
//	     +-> x-3 --+
//	b-2 -+         +-> e-a
func TestLevelsAreOrderedAsTheSpecIs(t *testing.T) {
	t.Parallel()
	jc := &proto.JobChain{
		Jobs: map[string]*proto.Job{
			"a-1": {ID: "a-1"}, "b-2": {ID: "b-2"}, "x-3": {ID: "x-3", Structural: true}, "d-4": {ID: "d-4"}, "e-a": {ID: "e-a"},
		},
		AdjacencyList: map[string][]string{"a-1": {"x-3"}, "b-2": {"x-3"}, "x-3": {"d-4", "e-a"}},
	}
	var got []string
	for _, l := range Of(jc) {
		got = append(got, strings.Repeat("+", l.Level)+l.ID)
	}
	if g := strings.Join(got, " "); g != "+a-1 +b-2 +x-3 ++d-4 ++e-a" {
		t.Errorf("got %s", g)
	}
}
