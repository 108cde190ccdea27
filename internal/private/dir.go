package private

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// StateDir returns the directory of Treadle for state of this user on this machine,
// by the XDG base directory specification. It need not be there.
func StateDir() (string, error) {
	state := os.Getenv("XDG_STATE_HOME")
	if !filepath.IsAbs(state) { // what is not counts as not set
		home, err := os.UserHomeDir()
		if err != nil {
			return "", err
		}
		state = filepath.Join(home, ".local", "state")
	}
	return filepath.Join(state, "treadle"), nil
}

// Dir makes a directory that only this user can use, or finds that it is there and
// is such. Another user may have made something of that name first: that is an error.
func Dir(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(path, 0o700); err != nil && !os.IsExist(err) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); !info.IsDir() || !ok || int(stat.Uid) != os.Getuid() || info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s is not a directory of this user that nobody else can use", path)
	}
	return nil
}
