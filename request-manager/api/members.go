package api

import (
	"context"

	"github.com/labstack/echo/v4"

	"github.com/treadle-run/treadle/internal/httpjson"
	"github.com/treadle-run/treadle/proto"
)

// Members are the Request Managers of the schedule engine.
type Members interface {
	Members(ctx context.Context) ([]proto.MemberStatus, error)
	SetShards(ctx context.Context, n int) error
}

func (s *server) listMembers(c echo.Context) error {
	members, err := s.members.Members(c.Request().Context())
	return answerList(c, members, err)
}

// maxShards is into how many shards the apps can be cut at most.
const maxShards = 1024

func (s *server) setShards(c echo.Context) error {
	var body struct {
		Shards *int `json:"shards"`
	}
	if err := httpjson.DecodeStrict(c, &body, s.cfg.BodyLimit); err != nil {
		return err
	}
	if body.Shards == nil || *body.Shards < 1 || *body.Shards > maxShards {
		return proto.Errorf(proto.CodeInvalid, "shards: expected a whole number from 1 to %d", maxShards)
	}
	if err := s.members.SetShards(c.Request().Context(), *body.Shards); err != nil {
		return err
	}
	return httpjson.Empty(c)
}
