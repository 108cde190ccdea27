package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// UnknownVariables returns an error, one line each, for the variables of env that
// start as those of keys do and are not known: misspelt ones would have no effect.
// A variable that is empty counts as not set.
func UnknownVariables(env map[string]string, known []string) error {
	var unknown []string
	for name, value := range env {
		if strings.HasPrefix(name, envPrefix) && value != "" && !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	var errs []error
	for _, name := range unknown {
		hint := ""
		if near := nearest(name, known); near != "" {
			hint = fmt.Sprintf(", did you mean %s?", near)
		}
		errs = append(errs, fmt.Errorf("unknown environment variable %s%s", name, hint))
	}
	return errors.Join(errs...)
}
