package store

import (
	"errors"
	"testing"

	"github.com/treadle-run/treadle/internal/database"
)

func TestProbesWriteToRowsOfTheirOwn(t *testing.T) {
	each(t, func(t *testing.T, f *fixture) {
		f.create(t)
		for slot := range uint(2 * ProbeSlots) {
			must(t, f.ProbeWrite(t.Context(), slot))
		}
		if n := f.count(t, "write_probes"); n != ProbeSlots {
			t.Errorf("%d rows of probes, want %d", n, ProbeSlots)
		}
		if n := f.count(t, "request_archives"); n != 1 {
			t.Errorf("%d job chains, want the one of the request", n)
		}
	})
}

func TestProbeOfADatabaseThatCanOnlyBeRead(t *testing.T) {
	t.Parallel()
	f := &fixture{Store: openStore(t, database.Config{SQLitePath: database.MemoryPath})}
	_, err := f.db.Writer.ExecContext(t.Context(), "PRAGMA query_only = ON")
	must(t, err)
	if err := f.ProbeWrite(t.Context(), 1); !errors.Is(err, ErrReadOnly) || !errors.Is(err, ErrUnavailable) {
		t.Errorf("error %v, want ErrReadOnly, which is an ErrUnavailable", err)
	}
}
