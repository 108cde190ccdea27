package api

import (
	"github.com/labstack/echo/v4"

	"github.com/treadle-run/treadle/internal/httpjson"
	"github.com/treadle-run/treadle/proto"
)

// undoInstance has an undo that keeps failing tried now, or given up.
func (s *server) undoInstance(c echo.Context) error {
	name, err := appName(c)
	if err != nil {
		return err
	}
	var u proto.UndoInstance
	if err := httpjson.DecodeStrict(c, &u, s.cfg.BodyLimit); err != nil {
		return err
	}
	switch {
	case u.Instance == "":
		return proto.Errorf(proto.CodeInvalid, "instance: is missing: the name of the instance whose undo fails")
	case u.Do != proto.UndoRetry && u.Do != proto.UndoGiveUp:
		return proto.Errorf(proto.CodeInvalid, "do: expected %q or %q, got %q", proto.UndoRetry, proto.UndoGiveUp, u.Do)
	}
	if err := s.scheduler.UndoInstance(c.Request().Context(), name, u, caller(c)); err != nil {
		return err
	}
	return httpjson.Empty(c)
}
