package api

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/treadle-run/treadle/proto"
)

// Whom a call over the wire is counted as, by the headers that it has.
func TestWhoCalls(t *testing.T) {
	t.Parallel()
	e := echo.New()
	e.HTTPErrorHandler = func(err error, c echo.Context) { _ = c.String(proto.Body(err).HTTPStatus, "") }
	e.GET("/", func(c echo.Context) error { return c.String(http.StatusOK, caller(c)) }, identify)
	s := httptest.NewServer(e)
	defer s.Close()
	const refused = "refused"
	for name, c := range map[string]struct {
		headers []string
		want    string
	}{
		"nobody":                      {nil, anonymous},
		"an empty name":               {[]string{" "}, anonymous},
		"a name":                      {[]string{"ada"}, "ada"},
		"a name with spaces":          {[]string{"  Ada   Lovelace "}, "Ada Lovelace"},
		"a space that looks like one": {[]string{"Ada\u00a0\u3000Lovelace"}, "Ada Lovelace"},
		"a composed letter":           {[]string{"ren\u00e9"}, "ren\u00e9"},
		"the same of two characters":  {[]string{"rene\u0301"}, "ren\u00e9"},
		"as long as it may be":        {[]string{strings.Repeat("a", maxUser)}, strings.Repeat("a", maxUser)},
		"two names":                   {[]string{"ada", "root"}, refused},
		"the same name twice":         {[]string{"ada", "ada"}, refused},
		"too long":                    {[]string{strings.Repeat("a", maxUser+1)}, refused},
		"a tab":                       {[]string{"a\tb"}, refused},
		"an override of direction":    {[]string{"ad\u202ea"}, refused},
		"an isolate of direction":     {[]string{"\u2066ada"}, refused},
		"a zero-width space":          {[]string{"ad\u200ba"}, refused},
		"a zero-width joiner":         {[]string{"ad\u200da"}, refused},
		"a byte order mark":           {[]string{"\ufeffada"}, refused},
		"a soft hyphen":               {[]string{"ad\u00ada"}, refused},
		"a variation selector":        {[]string{"ada\ufe0f"}, refused},
		"a filler":                    {[]string{"ada\u3164"}, refused},
		"a blank braille pattern":     {[]string{"ada\u2800"}, refused},
		"a grapheme joiner":           {[]string{"ad\u034fa"}, refused},
		"a line separator":            {[]string{"ada\u2028"}, refused},
		"a tag character":             {[]string{"ada\U000e0041"}, refused},
		"no UTF-8":                    {[]string{"ad\xffa"}, refused},
	} {
		t.Run(name, func(t *testing.T) {
			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range c.headers {
				req.Header.Add(UserHeader, h)
			}
			resp, err := s.Client().Do(req)
			if err != nil {
				if c.want == refused && strings.Contains(err.Error(), "invalid header") {
					return // Go's client does not even send it
				}
				t.Fatal(err)
			}
			defer resp.Body.Close()
			body, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			got := string(body)
			if resp.StatusCode == http.StatusBadRequest {
				got = refused
			}
			if got != c.want {
				t.Errorf("it is %q, want %q", got, c.want)
			}
		})
	}
}
