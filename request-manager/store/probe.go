package store

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/treadle-run/treadle/internal/database"
)

// ProbeSlots is how many rows Request Managers share for their probes, so that they
// seldom write the same one.
const ProbeSlots = 64

// probeSize is how much a probe writes: a disk that has no room for it has none for a
// request and its job chain.
const probeSize = 64 << 10

// ProbeWrite finds out whether requests can be stored: it writes to a row of its own,
// and to the table of job chains something that is gone at the end of the transaction,
// for which the database must find room there. It tries once.
func (s *Store) ProbeWrite(ctx context.Context, slot uint) error {
	filler := make([]byte, probeSize) // random: databases compress
	if _, err := rand.Read(filler); err != nil {
		return err
	}
	slot %= ProbeSlots
	id := fmt.Sprintf("probe-%d", slot) // that of no request
	return s.db.Once().InTx(ctx, "probe", func(ctx context.Context, t *database.Tx) error {
		_, err := s.db.Query(`INSERT INTO write_probes (slot, written_at, filler) VALUES (?, {now}, ?)
			{upsert}written_at = {now}, filler = ?`, slot, filler, filler).Exec(ctx, t)
		if err != nil {
			return err
		}
		_, err = s.db.Query("INSERT INTO request_archives (request_id, job_chain) VALUES (?, ?)", id, filler).Exec(ctx, t)
		if err != nil {
			return err
		}
		return s.db.Query("DELETE FROM request_archives WHERE request_id = ?", id).ExecOne(ctx, t)
	})
}
