package check

import (
	"slices"
	"strings"

	"github.com/treadle-run/treadle/grapher/problem"
	"github.com/treadle-run/treadle/grapher/spec"
)

func checkDuplicateArg(p *pass, s *spec.Sequence) {
	first := map[string]int{}
	for _, list := range s.Args.Lists() {
		for _, a := range list {
			if before, ok := first[a.Name]; ok && a.Name != "" {
				p.problem(a.Line, "the sequence has arg %s here and also on line %d", problem.Quote(a.Name), before)
				continue
			}
			first[a.Name] = a.Line
		}
	}
}

func checkRequiredDefault(p *pass, s *spec.Sequence) {
	for _, a := range s.Args.Required {
		if a.Fields.Has("default") {
			p.problem(a.Fields.Line("default", a.Line), "required arg %s has a default: leave it out, or make the arg optional", problem.Quote(a.Name))
		}
	}
}

func checkMissingDefault(p *pass, s *spec.Sequence) {
	for kind, list := range map[string][]*spec.Arg{"optional": s.Args.Optional, "static": s.Args.Static} {
		for _, a := range list {
			if !a.Fields.Has("default") {
				p.problem(a.Line, "%s arg %s has no `default` (the empty text is \"\")", kind, problem.Quote(a.Name))
			}
		}
	}
}

func checkArgRules(p *pass, s *spec.Sequence) {
	for _, list := range s.Args.Lists() {
		for _, a := range list {
			if a.Fields.Has("enum") && len(a.Enum) == 0 && !a.BadEnum && !p.failedAt(s, a.Fields.Line("enum", a.Line)) {
				p.problem(a.Fields.Line("enum", a.Line), "`enum` of %s is empty: no value would be allowed", problem.Quote(a.Name))
			}
			if a.Pattern != "" && a.Type != "" && a.Type != "string" {
				p.problem(a.Fields.Line("pattern", a.Line), "`pattern` of %s needs a string, and the type is %s", problem.Quote(a.Name), a.Type)
			}
		}
	}
}

// anchors are what ties a pattern to the start or the end of a text.
var anchors = []string{"^", "$", `\A`, `\z`}

func checkLoosePattern(p *pass, s *spec.Sequence) {
	for _, list := range s.Args.Lists() {
		for _, a := range list {
			if a.HasPattern() && !slices.ContainsFunc(anchors, func(x string) bool { return strings.Contains(a.Pattern, x) }) {
				p.problem(a.Fields.Line("pattern", a.Line), "`pattern` of %s has no anchor, so a value matches if any part of it does; to match the whole value, write %s",
					problem.Quote(a.Name), problem.Quote("^("+a.Pattern+")$"))
			}
		}
	}
}

func checkBadDefault(p *pass, s *spec.Sequence) {
	for _, list := range s.Args.Lists() {
		for _, a := range list {
			if !a.HasDefault {
				continue
			}
			if _, err := a.Accept(a.Default); err != nil {
				p.problem(a.Fields.Line("default", a.Line), "the default of %s %s", problem.Quote(a.Name), err)
			}
		}
	}
}
