package request

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// A caller that gets no answer to a creation learns how to try again without creating a
// second request.
func TestUnansweredCreationNamesTheKey(t *testing.T) {
	t.Parallel()
	const hint = "; try again with the same Idempotency-Key: the request may have been created"
	for _, err := range []error{store.ErrUnavailable, context.DeadlineExceeded, store.ErrDiskFull} {
		err = fmt.Errorf("create: %w", err)
		plain, _ := errors.AsType[*proto.Error](storeError(err, ""))
		got, _ := errors.AsType[*proto.Error](createError(err))
		want := strings.TrimSuffix(plain.Message, "; try again") + hint
		if got.Message != want || got.Code != proto.CodeUnavailable || got.RetryAfter == 0 {
			t.Errorf("%v: %+v, want the message %q", err, got, want)
		}
	}
	for _, err := range []error{errEnding, store.ErrNotFound, fmt.Errorf("create: something else")} {
		if got, want := createError(err).Error(), storeError(err, "").Error(); got != want {
			t.Errorf("%v: %q, want %q", err, got, want)
		}
	}
}
