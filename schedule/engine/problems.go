package engine

import (
	"context"
	"maps"
	"slices"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/store"
)

// problems says, by the name of the app, what is wrong with apps as things stand: what
// could not be known, or was not so, when they were put.
func (e *Engine) problems(ctx context.Context, rows []store.AppRow) (map[string]string, error) {
	there := map[string]bool{}
	for _, row := range rows {
		there[row.App.Name] = true
	}
	unknown := map[string]bool{}
	for _, row := range rows {
		for up := range row.App.Depends {
			if !there[up] {
				unknown[up] = true
			}
		}
	}
	if len(unknown) > 0 {
		found, err := e.store.Apps(ctx, slices.Collect(maps.Keys(unknown))...)
		if err != nil {
			return nil, err
		}
		for _, row := range found {
			there[row.App.Name] = true
		}
	}
	out := map[string]string{}
	for _, row := range rows {
		if p := e.problem(row, there); p != "" {
			out[row.App.Name] = p
		}
	}
	return out, nil
}

func (e *Engine) problem(row store.AppRow, there map[string]bool) string {
	var gone []string
	for _, up := range slices.Sorted(maps.Keys(row.App.Depends)) {
		if !there[up] {
			gone = append(gone, up)
		}
	}
	switch {
	case len(gone) == 1:
		return "upstream app " + gone[0] + " is not there"
	case len(gone) > 1:
		return "upstream apps are not there: " + proto.Names(gone)
	case row.Source == proto.AppFromAPI && e.declared[row.App.Name]:
		return "the specs declare an app of this name, too, which is left out: delete this one, or rename that"
	}
	return ""
}

// warnOfProblems logs what is wrong with apps, after those of the specs were stored.
func (e *Engine) warnOfProblems(ctx context.Context) error {
	for after := ""; ; {
		rows, err := e.store.AppsAfter(ctx, after, page)
		if err != nil {
			return err
		}
		problems, err := e.problems(ctx, rows)
		if err != nil {
			return err
		}
		for _, name := range slices.Sorted(maps.Keys(problems)) {
			e.log.Warn("an app has a problem", "app", name, "problem", problems[name])
		}
		if len(rows) < page {
			return nil
		}
		after = rows[len(rows)-1].App.Name
	}
}
