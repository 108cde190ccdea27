package store

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/treadle-run/treadle/internal/database"
	"github.com/treadle-run/treadle/proto"
)

// Limits of what is stored of a request, in bytes.
const (
	maxUser = 100
)

// NewRequest is all that is stored when a request is created.
type NewRequest struct {
	// Request has the ID, Type, User, Host, Args (secrets masked) and TotalJobs;
	// CreateRequests sets State and CreatedAt.
	Request proto.Request
	// ArgValues are the args that lists can be filtered by, without secret ones.
	ArgValues proto.Values
	// Chain is the JSON of the job chain, encrypted in the database if Seal is set.
	Chain []byte
	Seal  bool
	// IdempotencyKey, if not empty, may be used once by each user, for a body with
	// this hash (at most 64 bytes).
	IdempotencyKey string
	BodyHash       []byte
}

// CreateRequests stores requests as PENDING, all or none, and sets State and
// CreatedAt in reqs. The error is a *KeyTakenError if an idempotency key was used
// before, or twice in reqs, and a *proto.Error of CodeInvalid if a name is too long.
func (s *Store) CreateRequests(ctx context.Context, reqs []NewRequest) error {
	if len(reqs) == 0 {
		return nil
	}
	rows, err := s.newRows(reqs)
	if err != nil {
		return err
	}
	var now int64
	err = s.db.InTxOnce(ctx, "create requests", requestToken(reqs[0].Request.ID), func(ctx context.Context, t *database.Tx) error {
		var err error
		if now, err = s.db.ReadNow(ctx, t); err != nil {
			return err
		}
		return rows.insert(ctx, t, now)
	})
	if len(rows.keys) > 0 && err != nil && s.db.Dialect.Classify(err) == database.ClassDuplicate {
		if i, e := s.firstTaken(ctx, reqs); e != nil {
			return e
		} else if i >= 0 {
			return &KeyTakenError{Index: i}
		}
	}
	if err != nil {
		return err
	}
	for i := range reqs {
		reqs[i].Request.State = proto.StatePending
		reqs[i].Request.CreatedAt = database.FromMicros(now)
	}
	return nil
}

// newRows has the rows of a batch by table. Their last column, the time, is added
// when they are inserted.
type newRows struct {
	keys, requests, archives, args [][]any
}

func (s *Store) newRows(reqs []NewRequest) (*newRows, error) {
	rows := &newRows{}
	seen := map[[32]byte]bool{}
	for i := range reqs {
		r := &reqs[i]
		if err := r.check(); err != nil {
			return nil, err
		}
		args, err := encodeArgs(r.Request.Args)
		if err != nil {
			return nil, fmt.Errorf("request %s: %w", r.Request.ID, err)
		}
		blob, err := s.db.EncodeBlob(r.Request.ID, r.Chain, r.Seal)
		if err != nil {
			return nil, err
		}
		id := r.Request.ID
		if r.IdempotencyKey != "" {
			hash := keyHash(r.Request.User, r.IdempotencyKey)
			if seen[hash] {
				return nil, &KeyTakenError{Index: i}
			}
			seen[hash] = true
			rows.keys = append(rows.keys, []any{hash[:], id, nonNil(r.BodyHash)})
		}
		rows.requests = append(rows.requests, []any{id, r.Request.Type, r.Request.User,
			proto.StatePending, r.Request.TotalJobs, database.CleanReason(r.Request.Reason), string(args), r.Request.Host})
		rows.archives = append(rows.archives, []any{id, blob})
		for _, name := range slices.Sorted(maps.Keys(r.ArgValues)) {
			rows.args = append(rows.args, []any{id, name, valueHash(proto.Text(r.ArgValues[name]))})
		}
	}
	return rows, nil
}

func (rows *newRows) insert(ctx context.Context, t *database.Tx, now int64) error {
	// The keys go first: they are what may be taken.
	for _, table := range []struct {
		insert string
		rows   [][]any
		more   []any
	}{
		{"INSERT INTO idempotency_keys (key_hash, request_id, body_hash, created_at) VALUES", rows.keys, []any{now}},
		{`INSERT INTO requests (request_id, type, user, state, total_jobs, reason, args, host,
			created_at, updated_at, epoch, finished_jobs, change_token) VALUES`, rows.requests, []any{now, now, 0, 0, t.Token}},
		{"INSERT INTO request_archives (request_id, job_chain) VALUES", rows.archives, nil},
		{"INSERT INTO request_args (request_id, name, value_hash, created_at) VALUES", rows.args, []any{now}},
	} {
		full := make([][]any, len(table.rows))
		for i, row := range table.rows {
			full[i] = append(slices.Clip(row), table.more...)
		}
		if err := t.DB.InsertRows(ctx, t, table.insert, full); err != nil {
			return err
		}
	}
	return nil
}

// check holds both databases to the same limits.
func (r *NewRequest) check() error {
	if !plausibleID(r.Request.ID) {
		return fmt.Errorf("%q is not a request id", r.Request.ID)
	}
	if len(r.BodyHash) > 64 {
		return fmt.Errorf("request %s: the body hash has %d bytes: at most 64", r.Request.ID, len(r.BodyHash))
	}
	if err := database.CheckName("user", r.Request.User, maxUser); err != nil {
		return err
	}
	if err := database.CheckName("type", r.Request.Type, proto.MaxSequenceName); err != nil {
		return err
	}
	if err := database.CheckName("host", r.Request.Host, proto.MaxHost); err != nil {
		return err
	}
	for name := range r.ArgValues {
		if err := database.CheckName("arg "+name, name, proto.MaxArgName); err != nil {
			return err
		}
	}
	return nil
}

// firstTaken returns the index of the first request whose key is taken, -1 if
// none is.
func (s *Store) firstTaken(ctx context.Context, reqs []NewRequest) (int, error) {
	for i := range reqs {
		if reqs[i].IdempotencyKey == "" {
			continue
		}
		_, _, err := s.RequestByKey(ctx, reqs[i].Request.User, reqs[i].IdempotencyKey)
		if err == nil {
			return i, nil
		}
		if !errors.Is(err, ErrNotFound) {
			return -1, err
		}
	}
	return -1, nil
}

// RequestByKey returns the request that the user created with the idempotency
// key, and the hash of its body; ErrNotFound if there is none.
func (s *Store) RequestByKey(ctx context.Context, user, key string) (id string, bodyHash []byte, err error) {
	hash := keyHash(user, key)
	err = s.db.Do(ctx, "request by idempotency key", func(ctx context.Context) error {
		return s.db.Query("SELECT request_id, body_hash FROM idempotency_keys WHERE key_hash = ?", hash[:]).Row(ctx, s.db.Reader, &id, &bodyHash)
	})
	return id, bodyHash, err
}

// PurgeKeys forgets idempotency keys that are older than that, and returns how
// many.
func (s *Store) PurgeKeys(ctx context.Context, olderThan time.Duration) (int, error) {
	purged := 0
	for {
		var n int64
		err := s.db.Do(ctx, "purge idempotency keys", func(ctx context.Context) error {
			var hashes [][]byte
			n = 0
			err := s.db.Query(`SELECT key_hash FROM idempotency_keys WHERE created_at < {now} - ? ORDER BY created_at LIMIT ?`,
				olderThan.Microseconds(), database.ChunkRows).Rows(ctx, s.db.Reader, func(scan func(...any) error) error {
				var hash []byte
				err := scan(&hash)
				hashes = append(hashes, hash)
				return err
			})
			if err != nil || len(hashes) == 0 {
				return err
			}
			n, err = s.db.Query("DELETE FROM idempotency_keys WHERE key_hash IN {ids}", hashes).Exec(ctx, s.db.Writer)
			return err
		})
		purged += int(n)
		if err != nil || n == 0 {
			return purged, err
		}
	}
}

func keyHash(user, key string) [32]byte {
	b := binary.AppendUvarint(nil, uint64(len(user)))
	return sha256.Sum256(append(append(b, user...), key...))
}

func valueHash(text string) []byte {
	h := sha256.Sum256([]byte(text))
	return h[:16]
}

func nonNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}
