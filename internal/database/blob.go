package database

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
	FormatPlain      = 0
	FormatZstd       = 1
	FormatSealed     = 2 // AES-256-GCM of plain: nonce, then text and tag
	FormatSealedZstd = 3

	// compressFrom is the size from which compression is worth its time.
	CompressFrom = 1 << 10
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
func (d *DB) Fingerprint(text []byte) []byte {
	var h hash.Hash
	if d.Config.SecretsKey == nil {
		h = sha256.New()
	} else {
		h = hmac.New(sha256.New, append([]byte("fingerprint\x00"), d.Config.SecretsKey...))
	}
	h.Write(text)
	return h.Sum(nil)
}

// EncodeBlob returns body as it is stored for the request: compressed if that is
// worth it, encrypted if seal is set.
func (d *DB) EncodeBlob(requestID string, body []byte, seal bool) ([]byte, error) {
	format := byte(FormatPlain)
	if len(body) > CompressFrom {
		format = FormatZstd
	}
	if !seal {
		if format == FormatZstd {
			return zstdEncoder.EncodeAll(body, append(make([]byte, 0, len(body)/4), format)), nil
		}
		return append([]byte{format}, body...), nil
	}
	if d.aead == nil {
		return nil, fmt.Errorf("chain of request %s has secrets: %w", requestID, ErrNoSecretsKey)
	}
	if format == FormatZstd {
		body = zstdEncoder.EncodeAll(body, nil)
	}
	format += FormatSealed
	out := make([]byte, 1+d.aead.NonceSize(), 1+d.aead.NonceSize()+len(body)+d.aead.Overhead())
	out[0] = format
	if _, err := rand.Read(out[1:]); err != nil {
		return nil, err
	}
	return d.aead.Seal(out, out[1:], body, sealedFor(format, requestID)), nil
}

// DecodeBlob is the reverse of encodeBlob.
func (d *DB) DecodeBlob(requestID string, blob []byte) ([]byte, error) {
	if len(blob) == 0 {
		return nil, errors.New("the stored chain is empty")
	}
	format, body := blob[0], blob[1:]
	switch format {
	case FormatSealed, FormatSealedZstd:
		if d.aead == nil {
			return nil, fmt.Errorf("chain of request %s is encrypted: %w", requestID, ErrNoSecretsKey)
		}
		n := d.aead.NonceSize()
		if len(body) < n {
			return nil, fmt.Errorf("chain of request %s: %w", requestID, ErrWrongSecretsKey)
		}
		plain, err := d.aead.Open(nil, body[:n], body[n:], sealedFor(format, requestID))
		if err != nil {
			return nil, fmt.Errorf("chain of request %s: %w", requestID, ErrWrongSecretsKey)
		}
		format, body = format-FormatSealed, plain
	}
	switch format {
	case FormatPlain:
		return body, nil
	case FormatZstd:
		return zstdDecoder.DecodeAll(body, nil)
	}
	return nil, fmt.Errorf("chain of request %s has the unknown format %d: written by a newer version?", requestID, format)
}

// sealedFor binds a sealed chain to its request: it cannot be moved to another.
func sealedFor(format byte, requestID string) []byte {
	return append([]byte{format}, requestID...)
}
