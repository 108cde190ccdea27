package argtext

import (
	"github.com/treadle-run/treadle/cmd/internal/verb"
	"github.com/treadle-run/treadle/proto"
)

// SpecOf finds the spec of a request type. If there is none, the error names one that
// is near; if none is near, it ends with hint, which says where to find them.
func SpecOf(specs []proto.RequestSpec, name, hint string) (proto.RequestSpec, error) {
	names := make([]string, len(specs))
	for i, s := range specs {
		if s.Name == name {
			return s, nil
		}
		names[i] = s.Name
	}
	if near := verb.Nearest(name, names); near != "" {
		return proto.RequestSpec{}, verb.Usagef("unknown request type %q, did you mean %s?", name, near)
	}
	return proto.RequestSpec{}, verb.Usagef("unknown request type %q; %s", name, hint)
}
