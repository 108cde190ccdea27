package api

import (
	"context"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"github.com/treadle-run/treadle/internal/httpjson"
	"github.com/treadle-run/treadle/proto"
)

// Apps is what users do with apps.
type Apps interface {
	// Apps returns apps by name, those after the given name, up to limit; a limit of
	// 0 is a default.
	Apps(ctx context.Context, after string, limit int) ([]proto.AppStatus, error)
	App(ctx context.Context, name string) (proto.AppStatus, error)
	PutApp(ctx context.Context, app proto.App) (changed bool, err error)
	DeleteApp(ctx context.Context, name string) error
	PauseApp(ctx context.Context, name string, paused bool) error
}

// appName returns the name of the app that the path names; CodeNotFound for what no
// app can be called.
func appName(c echo.Context) (string, error) {
	name, err := url.PathUnescape(c.Param("name"))
	if err != nil || proto.CheckAppName(name) != nil {
		return "", proto.Errorf(proto.CodeNotFound, "no app with that name")
	}
	return name, nil
}

func (s *server) listApps(c echo.Context) error {
	q, err := parseQuery(c, "after", "limit")
	if err != nil {
		return err
	}
	limit, err := parseCount(q, "limit")
	if err != nil {
		return err
	}
	apps, err := s.apps.Apps(c.Request().Context(), q.Get("after"), int(limit))
	return answerList(c, apps, err)
}

func (s *server) getApp(c echo.Context) error {
	name, err := appName(c)
	if err != nil {
		return err
	}
	app, err := s.apps.App(c.Request().Context(), name)
	if err != nil {
		return err
	}
	return httpjson.JSON(c, http.StatusOK, app)
}

// putApp makes an app or changes it, and answers its new status.
func (s *server) putApp(c echo.Context) error {
	name, err := url.PathUnescape(c.Param("name"))
	if err != nil {
		return proto.Errorf(proto.CodeInvalid, "name: malformed in the path")
	}
	var body proto.AppInput
	if err := httpjson.DecodeStrict(c, &body, s.cfg.BodyLimit); err != nil {
		return err
	}
	app, err := body.Definition()
	if err != nil {
		return err
	}
	if app.Name != "" && app.Name != name {
		return proto.Errorf(proto.CodeInvalid, "name: expected %q as in the path, or none, got %q", name, app.Name)
	}
	app.Name = name
	ctx := c.Request().Context()
	if _, err := s.apps.PutApp(ctx, app); err != nil {
		return err
	}
	status, err := s.apps.App(ctx, name)
	if err != nil {
		return err
	}
	return httpjson.JSON(c, http.StatusOK, status)
}

func (s *server) deleteApp(c echo.Context) error {
	name, err := appName(c)
	if err != nil {
		return err
	}
	if err := httpjson.DecodeNothing(c, s.cfg.BodyLimit); err != nil {
		return err
	}
	if err := s.apps.DeleteApp(c.Request().Context(), name); err != nil {
		return err
	}
	return httpjson.Empty(c)
}

func (s *server) pauseApp(c echo.Context) error { return s.setPaused(c, true) }

func (s *server) resumeApp(c echo.Context) error { return s.setPaused(c, false) }

func (s *server) setPaused(c echo.Context, paused bool) error {
	name, err := appName(c)
	if err != nil {
		return err
	}
	if err := httpjson.DecodeNothing(c, s.cfg.BodyLimit); err != nil {
		return err
	}
	if err := s.apps.PauseApp(c.Request().Context(), name, paused); err != nil {
		return err
	}
	return httpjson.Empty(c)
}

// answerList answers a list, an empty one as [].
func answerList[T any](c echo.Context, list []T, err error) error {
	if err != nil {
		return err
	}
	if list == nil {
		list = []T{}
	}
	return httpjson.JSON(c, http.StatusOK, list)
}
