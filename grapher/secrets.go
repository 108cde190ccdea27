package grapher

import (
	"slices"

	"github.com/treadle-run/treadle/grapher/spec"
)

// HaveSecrets reports whether a sequence has a secret arg, so that the values of
// requests must be encrypted where they are stored.
func (s *Specs) HaveSecrets() bool {
	secret := func(a *spec.Arg) bool { return a.Secret }
	for _, q := range s.Sequences {
		if slices.ContainsFunc(q.Args.Required, secret) || slices.ContainsFunc(q.Args.Optional, secret) ||
			slices.ContainsFunc(q.Args.Static, secret) {
			return true
		}
	}
	return false
}
