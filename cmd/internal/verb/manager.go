package verb

import (
	"context"
	"os/user"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/cmd/internal/term"
	"github.com/treadle-run/treadle/config"
	"github.com/treadle-run/treadle/request-manager/client"
)

// DefaultAddr is where treadle dev and a Request Manager without configuration
// listen.
const DefaultAddr = "http://127.0.0.1:32308"

// Manager is the Request Manager that client verbs ask: the one that --addr or the
// environment names.
type Manager struct {
	env  Environment
	out  *term.Out
	addr string // --addr
}

// NewManager returns the Request Manager of this environment. Verbs print to out.
func NewManager(env Environment, out *term.Out) *Manager {
	return &Manager{env: env, out: out}
}

// Now returns the time from which ages in flags count.
func (m *Manager) Now() time.Time { return m.out.Now() }

// Ask is what a client verb does: it asks the Request Manager and prints the answer.
type Ask func(ctx context.Context, api *client.Client, out *term.Out, args []string) error

// Verb makes c a verb that asks the Request Manager: it gets --addr and --output,
// and runs ask.
func (m *Manager) Verb(c *cobra.Command, ask Ask) *cobra.Command {
	c.RunE = func(c *cobra.Command, args []string) error {
		return m.Do(func(api *client.Client) error { return ask(c.Context(), api, m.out, args) })
	}
	return m.Flags(c)
}

// Flags adds --addr and --output to a verb that may ask the Request Manager with Do.
func (m *Manager) Flags(c *cobra.Command) *cobra.Command {
	c.Flags().StringVar(&m.addr, "addr", "", "base `URL` of the Request Manager (default $TREADLE_ADDR, or "+DefaultAddr+")")
	return OutputFlag(c, m.out)
}

// Do runs ask with a client of the Request Manager, and then closes the client.
func (m *Manager) Do(ask func(*client.Client) error) error {
	api, err := m.Client(m.addr)
	if err != nil {
		return err
	}
	defer api.Close()
	return ask(api)
}

// Client returns a client of the Request Manager at addr, "" for that of the
// environment. The caller closes it.
func (m *Manager) Client(addr string) (*client.Client, error) {
	addr, err := m.baseURL(addr)
	if err != nil {
		return nil, err
	}
	files := config.TLS{
		CertFile: m.env.Get("TREADLE_CLIENT_CERT_FILE"),
		KeyFile:  m.env.Get("TREADLE_CLIENT_KEY_FILE"),
		CAFile:   m.env.Get("TREADLE_CLIENT_CA_FILE"),
	}
	tls, err := files.Client()
	if err != nil {
		return nil, Usagef("%v", err)
	}
	secret, err := m.clusterSecret(addr)
	if err != nil {
		return nil, err
	}
	return client.New(client.Config{URL: addr, User: m.user(), Secret: string(secret), TLS: tls}), nil
}

func (m *Manager) baseURL(addr string) (string, error) {
	if addr == "" {
		addr = m.env.Get("TREADLE_ADDR")
	}
	if addr == "" {
		return DefaultAddr, nil
	}
	if !strings.Contains(addr, "://") {
		addr = "http://" + addr
	}
	if err := config.ValidateURL("address of the Request Manager", addr); err != nil {
		return "", Usagef("%v", err)
	}
	return strings.TrimRight(addr, "/"), nil
}

// clusterSecret returns the secret that proves to the Request Manager at addr that this
// user operates it, "" for none. It is that of the environment, else the one that the
// services of this user on this machine share; the latter is sent to loopback only.
func (m *Manager) clusterSecret(addr string) (config.Secret, error) {
	c := config.Cluster{Secret: config.Secret(m.env.Get("TREADLE_CLUSTER_SECRET")), SecretFile: m.env.Get("TREADLE_CLUSTER_SECRET_FILE")}
	if !c.Set() && !config.IsLoopbackURL(addr) {
		return "", nil
	}
	secret, err := c.LoadExisting()
	if err != nil {
		return "", Usagef("%w", err)
	}
	return secret, nil
}

// user is who asks: $TREADLE_USER, else the user of the system.
func (m *Manager) user() string {
	if name := m.env.Get("TREADLE_USER"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}
