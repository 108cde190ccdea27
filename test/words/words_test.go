package words

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const root = "../.."

// allowed are places that may have a word that the glossary rules out.
var allowed = []struct{ path, word, reason string }{
	{"docs/glossary.md", "", "it lists them"},
	// TODO: these packages are being renamed; the entries go with the last of their old words.
}

func isAllowed(path, word string) bool {
	for _, a := range allowed {
		if strings.HasPrefix(path, a.path) && (a.word == "" || a.word == word) {
			return true
		}
	}
	return false
}

// ruledOut are the words in `code` in the last column of the glossary's tables.
func ruledOut(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "docs/glossary.md"))
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for line := range strings.SplitSeq(string(page), "\n") {
		cells := strings.Split(strings.Trim(line, "|"), "|")
		if !strings.HasPrefix(line, "|") || len(cells) != 3 {
			continue
		}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[2], -1) {
			words = append(words, m[1])
		}
	}
	if len(words) < 15 || !slices.Contains(words, "circle") {
		t.Fatalf("the glossary rules out %q: has its form changed?", words)
	}
	return words
}

// A text is something that users read, and where it stands.
type text struct {
	path string
	line int
	text string
	own  int // bytes of the text that are its own: a match must start there
}

// literals are the strings of a Go file, but for the paths of imports and the tags of fields.
func literals(t *testing.T, path string) []text {
	t.Helper()
	files := token.NewFileSet()
	f, err := parser.ParseFile(files, filepath.Join(root, path), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var found []text
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.Field:
			n.Tag = nil
		case *ast.BasicLit:
			if n.Kind != token.STRING {
				return false
			}
			s, err := strconv.Unquote(n.Value)
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, text{path, files.Position(n.Pos()).Line, s, len(s)})
		}
		return true
	})
	return found
}

// lines are the lines of a file, each joined with the next one, so that a phrase is found also
// where a line ends in it.
func lines(t *testing.T, path string) []text {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Split(string(b), "\n")
	var found []text
	for i, line := range all {
		own := len(line)
		if i+1 < len(all) {
			line += " " + strings.TrimLeft(all[i+1], " #")
		}
		found = append(found, text{path, i + 1, line, own})
	}
	return found
}

// texts are all that users read: strings of the programs, pages, samples, and files of the packages.
func texts(t *testing.T) []text {
	t.Helper()
	var found []text
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path, err = filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if d.IsDir() {
			if path != "." && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".github" || slices.Contains([]string{"bin", "dist", "testdata"}, path)) {
				return filepath.SkipDir
			}
			return nil
		}
		switch filepath.Ext(path) {
		case ".go":
			if !strings.HasSuffix(path, "_test.go") {
				found = append(found, literals(t, path)...)
			}
		case ".md", ".yaml", ".yml", ".service":
			found = append(found, lines(t, path)...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Nothing that users read has a word that the glossary rules out.
func TestWordsOfTheGlossary(t *testing.T) {
	t.Parallel()
	patterns := map[string]*regexp.Regexp{}
	for _, word := range ruledOut(t) {
		patterns[word] = regexp.MustCompile(`(?i)\b` + strings.Join(strings.Fields(regexp.QuoteMeta(word)), `\s+`) + `\b`)
	}
	all := texts(t)
	if len(all) < 5000 {
		t.Errorf("found only %d texts", len(all))
	}
	for _, x := range all {
		for word, pattern := range patterns {
			if at := pattern.FindStringIndex(x.text); at != nil && at[0] < x.own && !isAllowed(x.path, word) {
				t.Errorf("%s:%d: %q: docs/glossary.md says what to use", x.path, x.line, word)
			}
		}
	}
}
