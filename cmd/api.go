package cmd

import (
	"os/user"
	"strings"

	"github.com/spf13/cobra"

	"github.com/treadle-run/treadle/config"
	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/request-manager/client"
)

// defaultAddr is where treadle dev and a Request Manager without configuration
// listen.
const defaultAddr = "http://127.0.0.1:32308"

// clientVerb makes a verb one that asks a Request Manager.
func (p *program) clientVerb(c *cobra.Command) *cobra.Command {
	c.Flags().StringVar(&p.addr, "addr", "", "base URL of the Request Manager (default $TREADLE_ADDR, or "+defaultAddr+")")
	return p.outputVerb(c)
}

// outputVerb makes a verb one that has a result to print.
func (p *program) outputVerb(c *cobra.Command) *cobra.Command {
	c.Flags().StringVar(&p.output, "output", outputText, "text or json; json is the object of the API")
	inner := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		if p.output != outputText && p.output != outputJSON {
			return usageErrorf("--output: %q is neither text nor json", p.output)
		}
		return inner(c, args)
	}
	return c
}

func (p *program) env(name string) string {
	if v, ok := p.lookup(name); ok {
		return v
	}
	return ""
}

// address is the base URL of the Request Manager.
func (p *program) address() (string, error) {
	addr := p.addr
	if addr == "" {
		addr = p.env("TREADLE_ADDR")
	}
	if addr == "" {
		return defaultAddr, nil
	}
	if !strings.Contains(addr, "://") {
		addr = "http://" + addr
	}
	if err := config.ValidateURL("address of the Request Manager", addr); err != nil {
		return "", usageErrorf("%v", err)
	}
	return strings.TrimRight(addr, "/"), nil
}

// client returns a client of the Request Manager; run closes it.
func (p *program) client() (*client.Client, error) {
	addr, err := p.address()
	if err != nil {
		return nil, err
	}
	files := config.TLS{
		CertFile: p.env("TREADLE_CLIENT_CERT_FILE"),
		KeyFile:  p.env("TREADLE_CLIENT_KEY_FILE"),
		CAFile:   p.env("TREADLE_CLIENT_CA_FILE"),
	}
	tls, err := files.Client()
	if err != nil {
		return nil, usageErrorf("%v", err)
	}
	secret, err := p.clusterSecret(addr)
	if err != nil {
		return nil, err
	}
	c := client.New(client.Config{URL: addr, User: p.user(), Secret: string(secret), TLS: tls})
	p.closers = append(p.closers, c.Close)
	return c, nil
}

// clusterSecret returns what proves to the Request Manager at addr that this user
// operates it, or "": what the environment says, or the secret that the services of
// this user on this machine share, which leaves it for no other machine.
func (p *program) clusterSecret(addr string) (config.Secret, error) {
	c := config.Cluster{Secret: config.Secret(p.env("TREADLE_CLUSTER_SECRET")), SecretFile: p.env("TREADLE_CLUSTER_SECRET_FILE")}
	if !c.Set() && !config.IsLoopbackURL(addr) {
		return "", nil
	}
	secret, err := c.LoadExisting()
	if err != nil {
		return "", usageErrorf("%w", err)
	}
	return secret, nil
}

// user is who asks: $TREADLE_USER, else the user of the system.
func (p *program) user() string {
	if name := p.env("TREADLE_USER"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

// requestID is the id that a verb is given; only the Request Manager knows
// whether there is such a request.
func requestID(args []string) string { return strings.TrimSpace(args[0]) }

// takes returns a check for the number of arguments of a verb, named as the help
// names them.
func takes(least, most int, names string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) < least {
			return usageErrorf("missing argument: %s", names)
		}
		if most >= 0 && len(args) > most {
			return usageErrorf("too many arguments, expected %s", orDash(names))
		}
		return nil
	}
}

// requestsVerbHint says where to find the requests of a Request Manager.
const requestsVerbHint = "treadle requests lists them"

// specOf finds the spec of a request type. If there is none and none is near, the
// error goes on with otherwise, which says where they are.
func specOf(specs []proto.RequestSpec, name, otherwise string) (proto.RequestSpec, error) {
	names := make([]string, len(specs))
	for i, s := range specs {
		if s.Name == name {
			return s, nil
		}
		names[i] = s.Name
	}
	hint := "; " + otherwise
	if near := nearest(name, names); near != "" {
		hint = ", did you mean " + near + "?"
	}
	return proto.RequestSpec{}, usageErrorf("there is no request %q%s", name, hint)
}
