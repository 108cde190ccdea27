package config

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestServicesOfOneUserShareASecret(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	if s, err := (Cluster{}).LoadExisting(); err != nil || s != "" {
		t.Errorf("before the first service: %q, %v", string(s), err)
	}
	const services = 20
	secrets := make([]Secret, services)
	var all sync.WaitGroup
	for i := range services {
		all.Go(func() {
			s, err := Cluster{}.Load(false)
			if err != nil {
				t.Error(err)
			}
			secrets[i] = s
		})
	}
	all.Wait()
	for _, s := range secrets {
		if len(s) < minSecret || s != secrets[0] {
			t.Fatalf("services that start at the same time have %q and %q", string(secrets[0]), string(s))
		}
	}
	if s, err := (Cluster{}).LoadExisting(); err != nil || s != secrets[0] {
		t.Errorf("a verb has %q, %v", string(s), err)
	}
	path, err := localSecretPath()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 1 {
		t.Errorf("left beside it: %v, %v", files, err)
	}
}

func TestClusterSecretOfTheConfiguration(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, tc := range map[string]struct {
		cluster Cluster
		mutual  bool
		want    Secret
		err     string
	}{
		"given":                        {Cluster{Secret: "0123456789abcdef"}, false, "0123456789abcdef", ""},
		"in a file":                    {Cluster{SecretFile: file("good", "0123456789abcdef\n", 0o600)}, false, "0123456789abcdef", ""},
		"in a file, with certificates": {Cluster{SecretFile: file("good", "0123456789abcdef\n", 0o600)}, true, "0123456789abcdef", ""},
		"only certificates":            {Cluster{}, true, "", ""},
		"no such file":                 {Cluster{SecretFile: filepath.Join(dir, "none")}, false, "", "no such file"},
		"others may read it":           {Cluster{SecretFile: file("open", "0123456789abcdef", 0o640)}, false, "", "chmod 600"},
		"too short":                    {Cluster{SecretFile: file("short", "0123456789\n", 0o600)}, false, "", "at least 16 characters"},
		"a directory":                  {Cluster{SecretFile: dir}, false, "", "is not a file with a secret"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tc.cluster.Load(tc.mutual)
			if got != tc.want || (err == nil) != (tc.err == "") || err != nil && !strings.Contains(err.Error(), tc.err) {
				t.Errorf("got %q, %v", string(got), err)
			}
			if err != nil && strings.Contains(err.Error(), "0123456789") {
				t.Errorf("the error shows the secret: %v", err)
			}
		})
	}
	if err := (Cluster{Secret: "0123456789abcdef", SecretFile: "f"}).Validate(); err == nil {
		t.Error("two secrets are accepted")
	}
}
