package e2e_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/treadle-run/treadle/test/e2e"
)

// The user of the database loses the right to write: nothing is accepted, users and
// load balancers are told why, and what is stored can be read.
func TestUserOfTheDatabaseMayOnlyRead(t *testing.T) {
	t.Parallel()
	e, server := ownMariaDB(t)
	admin := e.DB()
	run := func(statements ...string) {
		t.Helper()
		for _, s := range statements {
			if _, err := admin.Exec(s); err != nil {
				t.Fatalf("%s: %v", s, err)
			}
		}
	}
	var name string
	if err := admin.QueryRow("SELECT DATABASE()").Scan(&name); err != nil {
		t.Fatal(err)
	}
	run("CREATE USER app@'%' IDENTIFIED BY 'secret'", "GRANT ALL ON "+name+".* TO app@'%'")
	cfg, err := mysql.ParseDSN(server.DSN(name))
	if err != nil {
		t.Fatal(err)
	}
	cfg.User, cfg.Passwd = "app", "secret"
	e.Spec("ticking", ticking)
	e.StartRM("TREADLE_MYSQL_DSN=" + cfg.FormatDSN())
	request := object{"type": "ticking", "args": object{"gate_dir": t.TempDir()}}
	id := e.Submit("ticking", request["args"].(object))

	// Sessions keep the rights that they have begun with.
	run("REVOKE ALL ON "+name+".* FROM app@'%'", "GRANT SELECT ON "+name+".* TO app@'%'", "KILL USER app")
	const why = "the database refuses its user"
	for _, call := range []struct {
		method, path string
		body         any
	}{
		{http.MethodGet, "/readyz", nil},
		{http.MethodPost, "/api/v1/requests", request},
		{http.MethodPut, "/api/v1/requests/" + id + "/stop", nil},
		{http.MethodPut, "/api/v1/apps/a", object{"request": "ticking", "every": "1h", "args": request["args"]}},
	} {
		var a e2e.Answer
		e2e.Eventually(t, patience, call.method+" "+call.path+" is refused", func() bool {
			a = e.Do(call.method, call.path, call.body)
			return a.Status >= 400
		})
		if a.Status != http.StatusServiceUnavailable || a.Header.Get("Retry-After") == "" || !strings.Contains(string(a.Body), why) {
			t.Errorf("%s %s: %d, Retry-After %q: %s", call.method, call.path, a.Status, a.Header.Get("Retry-After"), a.Body)
		}
	}
	if r := e.Request(id); r.StopRequested {
		t.Errorf("a stop was stored: %+v", r)
	}
	run("GRANT ALL ON "+name+".* TO app@'%'", "KILL USER app")
	e2e.Eventually(t, patience, "the manager is ready", func() bool { return e.Do(http.MethodGet, "/readyz", nil).Status == http.StatusOK })
	e.Submit("ticking", request["args"].(object))
}
