package httpjson

import (
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/treadle-run/treadle/proto"
)

// Epoch returns the epoch that the call is made under.
func Epoch(c echo.Context) (uint64, error) {
	text := c.Request().Header.Get(proto.EpochHeader)
	if text == "" {
		return 0, proto.Errorf(proto.CodeInvalid, "header %s is missing: expected the epoch of the chain", proto.EpochHeader)
	}
	epoch, err := strconv.ParseUint(text, 10, 63) // databases have no more
	if err != nil {
		return 0, proto.Errorf(proto.CodeInvalid, "header %s: expected a whole number of at most 63 bits, got %q", proto.EpochHeader, text)
	}
	return epoch, nil
}

// CheckChain refuses a chain that JSON allows and no code could work with.
func CheckChain(jc *proto.JobChain) error {
	if !ValidRequestID(jc.RequestID) {
		return proto.Errorf(proto.CodeInvalid, "requestId: expected 20 characters of 0-9 and a-v, got %q", jc.RequestID)
	}
	for id, j := range jc.Jobs {
		if j == nil {
			return proto.Errorf(proto.CodeInvalid, "jobs: %q is null", id)
		}
	}
	for id, s := range jc.Sequences {
		if s == nil {
			return proto.Errorf(proto.CodeInvalid, "sequences: %q is null", id)
		}
	}
	return nil
}

// CheckSuspended is CheckChain for a suspended chain.
func CheckSuspended(sjc *proto.SuspendedJobChain) error {
	if sjc.JobChain == nil {
		return proto.Errorf(proto.CodeInvalid, "jobChain is missing")
	}
	if sjc.RequestID != sjc.JobChain.RequestID {
		return proto.Errorf(proto.CodeInvalid, "requestId: %q, but the chain is of %q", sjc.RequestID, sjc.JobChain.RequestID)
	}
	return CheckChain(sjc.JobChain)
}
