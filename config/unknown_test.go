package config_test

import (
	"fmt"
	"testing"

	"github.com/treadle-run/treadle/config"
)

func TestUnknownVariablesAreErrors(t *testing.T) {
	t.Parallel()
	known := []string{"TREADLE_LIMITS_JOBS", "TREADLE_HOST"}
	for name, tt := range map[string]struct {
		env  map[string]string
		want string
	}{
		"none":             {nil, "<nil>"},
		"known":            {map[string]string{"TREADLE_HOST": "a"}, "<nil>"},
		"of others":        {map[string]string{"TREADLES": "a", "HOST": "b"}, "<nil>"},
		"empty is not set": {map[string]string{"TREADLE_LIMIT_JOBS": ""}, "<nil>"},
		"misspelt": {map[string]string{"TREADLE_LIMIT_JOBS": "5", "TREADLE_SIZE": "1"},
			"unknown environment variable TREADLE_LIMIT_JOBS, did you mean TREADLE_LIMITS_JOBS?\nunknown environment variable TREADLE_SIZE"},
	} {
		if got := fmt.Sprint(config.UnknownVariables(tt.env, known)); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}
