package config

import (
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/treadle-run/treadle/internal/private"
)

// Cluster is how the services of one installation know each other.
type Cluster struct {
	// Secret is the same text in every RM and JR; SecretFile names a file that has it.
	// At most one of them is set.
	Secret     Secret `yaml:"secret"`
	SecretFile string `yaml:"secret_file"`
}

// minSecret is the least length of a cluster secret: one that can be guessed
// gives a stranger a shell on every runner.
const minSecret = 16

// Validate reports a secret that is too short to be one, or set twice.
func (c Cluster) Validate() error {
	if c.Secret != "" && c.SecretFile != "" {
		return errors.New("cluster.secret and cluster.secret_file are both set: choose one")
	}
	if c.Secret != "" && len(c.Secret) < minSecret {
		return fmt.Errorf("cluster.secret: must have at least %d characters", minSecret)
	}
	return nil
}

// Set reports whether there is a secret, of whatever origin, in the configuration.
func (c Cluster) Set() bool { return c.Secret != "" || c.SecretFile != "" }

// Load returns the secret: the configured one, else the local one, which all
// services and verbs of one user on one machine share. It makes the local one if
// there is none. Where certificates prove who calls (mutual TLS, both ways), there
// need not be a secret: the answer is "" then.
func (c Cluster) Load(mutual bool) (Secret, error) {
	switch {
	case c.Secret != "":
		return c.Secret, nil
	case c.SecretFile != "":
		return readSecret("cluster.secret_file", c.SecretFile)
	case mutual:
		return "", nil
	}
	path, err := localSecretPath()
	if err != nil {
		return "", fmt.Errorf("no cluster.secret, and no state directory for a generated one: %w", err)
	}
	if err := makeSecret(path); err != nil {
		return "", fmt.Errorf("no cluster.secret, and cannot generate one: %w", err)
	}
	return readSecret("the cluster secret of this machine", path)
}

// LoadExisting returns the secret for a verb: like Load, but it makes none, and the
// answer is "" if there is none.
func (c Cluster) LoadExisting() (Secret, error) {
	if c.Set() {
		return c.Load(false)
	}
	path, err := localSecretPath()
	if err != nil {
		return "", nil //nolint:nilerr // without a place there is no secret
	}
	if _, err := os.Stat(path); err != nil {
		return "", nil //nolint:nilerr // without a file there is no secret
	}
	return readSecret("the cluster secret of this machine", path)
}

// localSecretPath returns where the secret of this user on this machine is.
func localSecretPath() (string, error) {
	dir, err := private.StateDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "cluster.secret"), nil
}

// makeSecret makes a file with a new secret unless there is one. Of several
// processes that do so at the same time, one wins, and the file is never seen in part.
func makeSecret(path string) error {
	if _, err := os.Lstat(path); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), ".cluster.secret-*") // with mode 0600
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) //nolint:errcheck // linked by then, or of no use
	_, err = fmt.Fprintln(tmp, cryptorand.Text())
	if err := errors.Join(err, tmp.Sync(), tmp.Close()); err != nil {
		return err
	}
	if err := os.Link(tmp.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// readSecret reads a secret that nobody else may read. The error names the file,
// never what it has.
func readSecret(what, path string) (Secret, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxFileSize {
		return "", fmt.Errorf("%s: %s is not a file with a secret", what, path)
	}
	if perm := info.Mode().Perm(); perm&0o077 != 0 {
		return "", fmt.Errorf("%s: others may read %s (mode %#o): chmod 600 it", what, path, perm)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("%s: %w", what, err)
	}
	s := strings.TrimSpace(string(b))
	if len(s) < minSecret {
		return "", fmt.Errorf("%s: the secret in %s must have at least %d characters", what, path, minSecret)
	}
	return Secret(s), nil
}
