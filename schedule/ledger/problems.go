package ledger

import (
	"context"
	"maps"
	"slices"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/store"
)

// Problems says, by the name of the app, what is wrong with apps as things stand: what
// could not be known, or was not so, when they were put.
func (l *Ledger) Problems(ctx context.Context, rows []store.AppRow) (map[string]string, error) {
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
		found, err := l.store.Apps(ctx, slices.Collect(maps.Keys(unknown))...)
		if err != nil {
			return nil, err
		}
		for _, row := range found {
			there[row.App.Name] = true
		}
	}
	out := map[string]string{}
	for _, row := range rows {
		if p := l.problem(row, there); p != "" {
			out[row.App.Name] = p
		}
	}
	return out, nil
}

func (l *Ledger) problem(row store.AppRow, there map[string]bool) string {
	var missing []string
	for _, up := range slices.Sorted(maps.Keys(row.App.Depends)) {
		if !there[up] {
			missing = append(missing, up)
		}
	}
	switch {
	case len(missing) == 1:
		return "upstream app " + missing[0] + " does not exist"
	case len(missing) > 1:
		return "upstream apps do not exist: " + proto.Names(missing)
	case row.Source == proto.AppFromAPI && l.declared[row.App.Name]:
		return "the specs declare an app of this name, too, which is left out: delete this one, or rename that"
	}
	return ""
}
