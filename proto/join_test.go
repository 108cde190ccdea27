package proto

import (
	"slices"
	"testing"
)

func TestListSaysHowManyAreLeftOut(t *testing.T) {
	t.Parallel()
	ten := []string{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"}
	for _, tt := range []struct {
		names []string
		want  string
	}{
		{nil, ""},
		{[]string{"a"}, "a"},
		{[]string{"a", "b"}, "a, b"},
		{ten, "a, b, c, d, e, f, g, h, i, j"},
		{slices.Concat(ten, []string{"k"}), "a, b, c, d, e, f, g, h, i, j and 1 more"},
		{slices.Concat(ten, ten, ten), "a, b, c, d, e, f, g, h, i, j and 20 more"},
	} {
		if got := Names(tt.names); got != tt.want {
			t.Errorf("Names(%q) = %q, want %q", tt.names, got, tt.want)
		}
	}
}
