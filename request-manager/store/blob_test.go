package store

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/internal/database/databasetest"
	"github.com/treadle-run/treadle/proto"
)

var testKey = bytes.Repeat([]byte{7}, 32)

func openBlobs(t *testing.T, key []byte) *Store {
	t.Helper()
	s, err := database.Open(t.Context(), database.Config{SQLitePath: database.MemoryPath, SecretsKey: key})
	must(t, err)
	t.Cleanup(func() { must(t, s.Close()) })
	return New(s)
}

func TestBlobFormats(t *testing.T) {
	t.Parallel()
	s := openBlobs(t, testKey)
	long := strings.Repeat(`{"a chain": "that is long"}`, 1000)
	tests := []struct {
		name   string
		body   string
		seal   bool
		format byte
	}{
		{"short", "{}", false, database.FormatPlain},
		{"long", long, false, database.FormatZstd},
		{"sealed", "{}", true, database.FormatSealed},
		{"sealed long", long, true, database.FormatSealedZstd},
		{"empty", "", false, database.FormatPlain},
	}
	for _, tt := range tests {
		blob, err := s.db.EncodeBlob("r1", []byte(tt.body), tt.seal)
		must(t, err)
		if blob[0] != tt.format {
			t.Errorf("%s: format %d, want %d", tt.name, blob[0], tt.format)
		}
		if tt.format != database.FormatPlain && len(tt.body) > database.CompressFrom && len(blob) > len(tt.body)/5 {
			t.Errorf("%s: %d bytes of %d: not compressed", tt.name, len(blob), len(tt.body))
		}
		body, err := s.db.DecodeBlob("r1", blob)
		must(t, err)
		if string(body) != tt.body {
			t.Errorf("%s: came back as %.20q", tt.name, body)
		}
	}
}

func TestSealedBlobsOpenOnlyWithTheirKeyAndRequest(t *testing.T) {
	t.Parallel()
	sealed, err := openBlobs(t, testKey).db.EncodeBlob("r1", []byte("secret"), true)
	must(t, err)
	changed := bytes.Clone(sealed)
	changed[len(changed)-1]++
	tests := []struct {
		name string
		key  []byte
		id   string
		blob []byte
		want error
	}{
		{"no key", nil, "r1", sealed, ErrNoSecretsKey},
		{"other key", bytes.Repeat([]byte{8}, 32), "r1", sealed, ErrWrongSecretsKey},
		{"other request", testKey, "r2", sealed, ErrWrongSecretsKey},
		{"changed", testKey, "r1", changed, ErrWrongSecretsKey},
		{"cut off", testKey, "r1", sealed[:5], ErrWrongSecretsKey},
	}
	for _, tt := range tests {
		if _, err := openBlobs(t, tt.key).db.DecodeBlob(tt.id, tt.blob); !errors.Is(err, tt.want) {
			t.Errorf("%s: error %v, want %v", tt.name, err, tt.want)
		}
	}
	if _, err := openBlobs(t, nil).db.EncodeBlob("r1", []byte("secret"), true); !errors.Is(err, ErrNoSecretsKey) {
		t.Errorf("sealed without a key: %v", err)
	}
	if _, err := database.Open(t.Context(), database.Config{SQLitePath: database.MemoryPath, SecretsKey: []byte("short")}); err == nil {
		t.Error("a short key was accepted")
	}
}

func TestSecretsCannotBeReadInTheTables(t *testing.T) {
	databasetest.EachConfig(t, func(t *testing.T, cfg database.Config) {
		cfg.SecretsKey = testKey
		f := &fixture{Store: openStore(t, cfg)}
		n := newRequest(newID())
		n.Seal, n.Chain = true, []byte(`{"secrets":["hunter2"]}`)
		id := n.Request.ID
		must(t, f.CreateRequests(t.Context(), []NewRequest{n}))
		_, err := f.Dispatch(t.Context(), []Handover{{id, 0}}, "jr-1", "")
		must(t, err)
		sjc := &proto.SuspendedJobChain{RequestID: id, JobChain: &proto.JobChain{Secrets: []string{"hunter2"}}}
		f.report(t, proto.ReportItem{RequestID: id, Epoch: 1, Suspended: sjc})
		for _, column := range []string{"job_chain FROM request_archives", "sjc FROM suspended_job_chains"} {
			var blob []byte
			must(t, f.db.Writer.QueryRowContext(t.Context(), "SELECT "+column).Scan(&blob))
			if bytes.Contains(blob, []byte("hunter2")) {
				t.Errorf("%s can be read", column)
			}
		}
		chain, err := f.Chain(t.Context(), id)
		must(t, err)
		claimed, err := f.ClaimSJC(t.Context(), id, "rm-1")
		must(t, err)
		for _, body := range [][]byte{chain, claimed.Body} {
			if !bytes.Contains(body, []byte("hunter2")) {
				t.Errorf("opened chain %s", body)
			}
		}
		must(t, f.UnclaimSJC(t.Context(), id, "rm-1"))

		cfg.SecretsKey = nil
		blind := openStore(t, cfg)
		if _, err := blind.Chain(t.Context(), id); !errors.Is(err, ErrNoSecretsKey) {
			t.Errorf("chain without the key: %v", err)
		}
		if _, err := blind.ClaimSJC(t.Context(), id, "rm-2"); !errors.Is(err, ErrNoSecretsKey) {
			t.Errorf("claim without the key: %v", err)
		}
		if ids, err := blind.UnclaimedSJCs(t.Context(), time.Hour, 10); err != nil || len(ids) != 1 {
			t.Errorf("a claim that failed was kept: unclaimed %v, %v", ids, err)
		}
	})
}

func TestOpenNeedsOneDatabase(t *testing.T) {
	t.Parallel()
	for name, cfg := range map[string]database.Config{
		"none":         {},
		"both":         {MySQLDSN: "a@tcp(b)/c", SQLitePath: "x"},
		"no dsn":       {MySQLDSN: "secret:password"},
		"no database":  {MySQLDSN: "user:password@tcp(localhost)/"},
		"not a folder": {SQLitePath: filepath.Join("/dev/null", "x", "db")},
	} {
		_, err := database.Open(t.Context(), cfg)
		if err == nil {
			t.Errorf("%s: opened", name)
		} else if strings.Contains(err.Error(), "password:") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error shows the password: %v", name, err)
		}
	}
}
