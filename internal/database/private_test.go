package database_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/treadle-run/treadle/internal/database"
)

func TestASQLiteDatabaseIsNobodyElses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, err := database.Open(t.Context(), database.Config{SQLitePath: filepath.Join(dir, "treadle.db")})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Migrate(t.Context()); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "treadle.db*"))
	if err != nil || len(files) < 2 {
		t.Fatalf("files %v, error %v", files, err)
	}
	for _, name := range files {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if mode := info.Mode().Perm(); mode != 0o600 && filepath.Ext(name) != ".migrate" {
			t.Errorf("%s has mode %o", name, mode)
		}
	}
}

func TestFingerprintsAreKeyed(t *testing.T) {
	t.Parallel()
	open := func(key []byte) *database.DB {
		s, err := database.Open(t.Context(), database.Config{SQLitePath: ":memory:", SecretsKey: key})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Close() })
		return s
	}
	plain, one, other := open(nil), open(bytes.Repeat([]byte{1}, 32)), open(bytes.Repeat([]byte{2}, 32))
	a := one.Fingerprint([]byte("a"))
	if !bytes.Equal(a, one.Fingerprint([]byte("a"))) || bytes.Equal(a, one.Fingerprint([]byte("b"))) {
		t.Error("a fingerprint does not identify its text")
	}
	if bytes.Equal(a, other.Fingerprint([]byte("a"))) || bytes.Equal(a, plain.Fingerprint([]byte("a"))) {
		t.Error("a fingerprint does not depend on the key")
	}
}
