package cmd

import (
	"strings"

	"github.com/agnivade/levenshtein"
)

// nearest returns the name that was probably meant, "" if none is near.
func nearest(name string, names []string) string {
	best, distance := "", min(4, (len(name)+2)/2)
	for _, n := range names {
		if d := levenshtein.ComputeDistance(strings.ToLower(name), strings.ToLower(n)); d < distance {
			best, distance = n, d
		}
	}
	return best
}
