package config_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/treadle-run/treadle/config"
)

func TestListenIsRefusedWhereNothingProvesWhoCalls(t *testing.T) {
	t.Parallel()
	secret := config.Cluster{Secret: "0123456789abcdef"}
	mutual := config.TLS{CertFile: "c", KeyFile: "k", CAFile: "ca"}
	tests := []struct {
		addr    string
		tls     config.TLS
		cluster config.Cluster
		want    string // part of the error; "" is none
	}{
		{addr: "127.0.0.1:32308"},
		{addr: "127.9.9.9:0"},
		{addr: "[::1]:32308"},
		{addr: "localhost:32308"},
		{addr: "0.0.0.0:32308", want: "can be reached from other machines"},
		{addr: ":32308", want: "can be reached from other machines"},
		{addr: "10.0.0.1:32308", want: "set cluster.secret"},
		{addr: "host.example:1", want: "set cluster.secret"},
		{addr: "0.0.0.0:32308", tls: config.TLS{CertFile: "c", KeyFile: "k"}, want: "mutual TLS"},
		{addr: "0.0.0.0:32308", cluster: secret},
		{addr: "0.0.0.0:32308", tls: mutual},
		{addr: "127.0.0.1", want: "is not host:port"},
		{addr: "127.0.0.1:", want: "is not host:port"},
	}
	for _, tt := range tests {
		err := config.ValidateListen(tt.addr, tt.tls, tt.cluster, true)
		if tt.want == "" && err != nil || !strings.Contains(fmt.Sprint(err), tt.want) && tt.want != "" {
			t.Errorf("%s: got %v, want %q", tt.addr, err, tt.want)
		}
	}
}

func TestLogger(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	log := config.Log{Level: "warn", Format: "json"}.Logger(&b)
	log.Info("hidden")
	log.Warn("seen")
	if got := b.String(); strings.Contains(got, "hidden") || !strings.Contains(got, `"msg":"seen"`) {
		t.Errorf("logged %s", got)
	}
	for _, bad := range []config.Log{{Level: "loud", Format: "text"}, {Level: "info", Format: "xml"}, {}} {
		if bad.Validate() == nil {
			t.Errorf("%+v is valid", bad)
		}
	}
}

// files has a certificate for 127.0.0.1 that signs itself.
func files(t *testing.T) config.TLS {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	out := config.TLS{CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
	out.CAFile = out.CertFile
	for path, block := range map[string]*pem.Block{
		out.CertFile: {Type: "CERTIFICATE", Bytes: cert}, out.KeyFile: {Type: "PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func TestMutualTLS(t *testing.T) {
	t.Parallel()
	all := files(t)
	server, err := all.Server()
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.TLS = server
	s.StartTLS()
	defer s.Close()

	get := func(side config.TLS) error {
		c, err := side.Client()
		if err != nil {
			t.Fatal(err)
		}
		tr := &http.Transport{TLSClientConfig: c}
		defer tr.CloseIdleConnections()
		resp, err := (&http.Client{Transport: tr}).Get(s.URL)
		if err == nil {
			resp.Body.Close()
		}
		return err
	}
	if err := get(all); err != nil {
		t.Errorf("with a certificate: %v", err)
	}
	if err := get(config.TLS{CAFile: all.CAFile}); err == nil {
		t.Error("a client without a certificate is let in")
	}
	if err := get(config.TLS{CertFile: all.CertFile, KeyFile: all.KeyFile}); err == nil {
		t.Error("a client trusts a server that no authority of its own has signed")
	}
}

func TestTLSFilesThatDoNotWork(t *testing.T) {
	t.Parallel()
	all := files(t)
	if c, err := (config.TLS{}).Server(); c != nil || err != nil {
		t.Errorf("without files: %v, %v; want no TLS", c, err)
	}
	for _, tt := range []struct {
		tls  config.TLS
		want string
	}{
		{config.TLS{CertFile: "/none", KeyFile: all.KeyFile}, "/none"},
		{config.TLS{CertFile: all.CertFile, KeyFile: all.KeyFile, CAFile: all.KeyFile}, "has no certificate"},
		{config.TLS{CAFile: all.CAFile}, "needs cert_file and key_file"},
	} {
		var c *tls.Config
		c, err := tt.tls.Server()
		if c != nil || !strings.Contains(fmt.Sprint(err), tt.want) {
			t.Errorf("%+v: got %v, want %q", tt.tls, err, tt.want)
		}
	}
	if (config.TLS{CertFile: "c"}).Validate("x") == nil || (config.TLS{CAFile: "c"}).ValidateServer("x") == nil {
		t.Error("half a pair of files is valid")
	}
}
