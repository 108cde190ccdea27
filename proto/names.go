package proto

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of names, in bytes. The columns of the database are as wide.
const (
	MaxSequenceName   = 75 // also the limit of the type of a request, which names a sequence
	MaxNodeName       = 100
	MaxArgName        = 100
	MaxJobType        = 75
	MaxAppName        = 75
	MaxHost           = 255
	MaxIdempotencyKey = 255
)

// CheckName returns what is wrong with the name of a sequence, a node or an arg, nil if
// nothing is. The error continues a sentence whose subject is the name.
func CheckName(name string, limit int) error {
	if err := CheckJobType(name, limit); err != nil {
		return err
	}
	if strings.Contains(name, "/") {
		return errors.New("must not have a slash")
	}
	return nil
}

// CheckJobType is CheckName for the names of job types, which may have slashes.
func CheckJobType(name string, limit int) error {
	switch {
	case name == "":
		return errors.New("is empty")
	case len(name) > limit:
		return tooLong(name, limit)
	case strings.ContainsFunc(name, unicode.IsControl):
		return errors.New("has control characters")
	}
	return nil
}

func tooLong(name string, limit int) error {
	return fmt.Errorf("has %d bytes, and the limit is %d", len(name), limit)
}

var appName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*$`)

// CheckAppName is CheckName for the names of apps, which stand in URLs and in the names
// of instances.
func CheckAppName(name string) error {
	switch {
	case name == "":
		return errors.New("is empty")
	case len(name) > MaxAppName:
		return tooLong(name, MaxAppName)
	case !appName.MatchString(name):
		return errors.New("must have only letters, digits, dots, hyphens and underscores, and start with a letter or a digit")
	}
	return nil
}

// CheckHost returns what is wrong with the name of a host, nil if nothing is; "" stands
// for any host. The error continues a sentence whose subject is the name.
func CheckHost(host string) error {
	bad := func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) || r == '/' }
	switch {
	case len(host) > MaxHost:
		return tooLong(host, MaxHost)
	case !utf8.ValidString(host):
		return errors.New("must be UTF-8")
	case strings.ContainsFunc(host, bad):
		return errors.New("must not have spaces, slashes or control characters")
	}
	return nil
}
