package argtext

import (
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
)

// SpecOf finds the spec of a request type. If there is none and none is near, the
// error goes on with otherwise, which says where they are.
func SpecOf(specs []proto.RequestSpec, name, otherwise string) (proto.RequestSpec, error) {
	names := make([]string, len(specs))
	for i, s := range specs {
		if s.Name == name {
			return s, nil
		}
		names[i] = s.Name
	}
	hint := "; " + otherwise
	if near := verb.Nearest(name, names); near != "" {
		hint = ", did you mean " + near + "?"
	}
	return proto.RequestSpec{}, verb.Usagef("there is no request %q%s", name, hint)
}
