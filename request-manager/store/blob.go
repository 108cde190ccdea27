package store

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"

	"github.com/klauspost/compress/zstd"
)

// The first byte of a stored chain says how to read the rest.
const (
	formatPlain      = 0
	formatZstd       = 1
	formatSealed     = 2 // AES-256-GCM of plain: nonce, then text and tag
	formatSealedZstd = 3

	// compressFrom is the size from which compression is worth its time.
	compressFrom = 1 << 10
	// maxBlob bounds what a stored chain may become in memory.
	maxBlob = 2 << 30
)

// Both are safe for use by many goroutines.
var (
	zstdEncoder, _ = zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(2))
	zstdDecoder, _ = zstd.NewReader(nil, zstd.WithDecoderConcurrency(2), zstd.WithDecoderMaxMemory(maxBlob))
)

func newAEAD(key []byte) (cipher.AEAD, error) {
	if key == nil {
		return nil, nil
	}
	if len(key) != 32 {
		return nil, fmt.Errorf("the secrets key has %d bytes: expected 32", len(key))
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// Fingerprint identifies a text: equal texts have equal fingerprints. With a
// secrets key nobody who has the database alone can try out which text it was.
func (s *Store) Fingerprint(text []byte) []byte {
	var h hash.Hash
	if s.cfg.SecretsKey == nil {
		h = sha256.New()
	} else {
		h = hmac.New(sha256.New, append([]byte("fingerprint\x00"), s.cfg.SecretsKey...))
	}
	h.Write(text)
	return h.Sum(nil)
}

// encodeBlob returns body as it is stored for the request: compressed if that is
// worth it, encrypted if seal is set.
func (s *Store) encodeBlob(requestID string, body []byte, seal bool) ([]byte, error) {
	format := byte(formatPlain)
	if len(body) > compressFrom {
		format = formatZstd
	}
	if !seal {
		if format == formatZstd {
			return zstdEncoder.EncodeAll(body, append(make([]byte, 0, len(body)/4), format)), nil
		}
		return append([]byte{format}, body...), nil
	}
	if s.aead == nil {
		return nil, fmt.Errorf("chain of request %s has secrets: %w", requestID, ErrNoSecretsKey)
	}
	if format == formatZstd {
		body = zstdEncoder.EncodeAll(body, nil)
	}
	format += formatSealed
	out := make([]byte, 1+s.aead.NonceSize(), 1+s.aead.NonceSize()+len(body)+s.aead.Overhead())
	out[0] = format
	if _, err := rand.Read(out[1:]); err != nil {
		return nil, err
	}
	return s.aead.Seal(out, out[1:], body, sealedFor(format, requestID)), nil
}

// decodeBlob is the reverse of encodeBlob.
func (s *Store) decodeBlob(requestID string, blob []byte) ([]byte, error) {
	if len(blob) == 0 {
		return nil, errors.New("the stored chain is empty")
	}
	format, body := blob[0], blob[1:]
	switch format {
	case formatSealed, formatSealedZstd:
		if s.aead == nil {
			return nil, fmt.Errorf("chain of request %s is encrypted: %w", requestID, ErrNoSecretsKey)
		}
		n := s.aead.NonceSize()
		if len(body) < n {
			return nil, fmt.Errorf("chain of request %s: %w", requestID, ErrWrongSecretsKey)
		}
		plain, err := s.aead.Open(nil, body[:n], body[n:], sealedFor(format, requestID))
		if err != nil {
			return nil, fmt.Errorf("chain of request %s: %w", requestID, ErrWrongSecretsKey)
		}
		format, body = format-formatSealed, plain
	}
	switch format {
	case formatPlain:
		return body, nil
	case formatZstd:
		return zstdDecoder.DecodeAll(body, nil)
	}
	return nil, fmt.Errorf("chain of request %s has the unknown format %d: written by a newer version?", requestID, format)
}

// sealedFor binds a sealed chain to its request: it cannot be moved to another.
func sealedFor(format byte, requestID string) []byte {
	return append([]byte{format}, requestID...)
}
