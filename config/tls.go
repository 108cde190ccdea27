package config

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// TLS names the PEM files of one side of a connection. All are optional
// together: without any, the connection is not encrypted.
type TLS struct {
	CertFile string `yaml:"cert_file"` // own certificate
	KeyFile  string `yaml:"key_file"`  // its private key
	// CAFile has the authorities that the other side's certificate must be signed
	// by. On a server it makes a client certificate mandatory (mutual TLS).
	CAFile string `yaml:"ca_file"`
}

// Set reports whether any file is named.
func (t TLS) Set() bool { return t != TLS{} }

// Mutual reports whether a server with these files demands a certificate of its
// clients.
func (t TLS) Mutual() bool { return t.CertFile != "" && t.CAFile != "" }

// Validate reports files that make no sense without another. Key is the section,
// such as "server.tls".
func (t TLS) Validate(key string) error {
	if (t.CertFile == "") != (t.KeyFile == "") {
		return fmt.Errorf("%s: cert_file and key_file go together: set both or none", key)
	}
	return nil
}

// ValidateServer is Validate for a section that a server listens with: it needs a
// certificate.
func (t TLS) ValidateServer(key string) error {
	if t.Set() && t.CertFile == "" {
		return fmt.Errorf("%s: needs cert_file and key_file", key)
	}
	return t.Validate(key)
}

// Server returns what a server listens with, and nil if no file is named. The
// error names the file that cannot be used.
func (t TLS) Server() (*tls.Config, error) {
	c, err := t.load()
	if c == nil || err != nil {
		return nil, err
	}
	if len(c.Certificates) == 0 {
		return nil, fmt.Errorf("a server with TLS needs cert_file and key_file")
	}
	if c.RootCAs != nil {
		c.ClientCAs, c.RootCAs = c.RootCAs, nil
		c.ClientAuth = tls.RequireAndVerifyClientCert
	}
	return c, nil
}

// Client returns what a client connects with, and nil if no file is named. The
// error names the file that cannot be used.
func (t TLS) Client() (*tls.Config, error) {
	return t.load()
}

func (t TLS) load() (*tls.Config, error) {
	if !t.Set() {
		return nil, nil
	}
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CertFile != "" || t.KeyFile != "" {
		cert, err := tls.LoadX509KeyPair(t.CertFile, t.KeyFile)
		if err != nil {
			return nil, fmt.Errorf("certificate %s with key %s: %w", t.CertFile, t.KeyFile, err)
		}
		c.Certificates = []tls.Certificate{cert}
	}
	if t.CAFile != "" {
		pem, err := os.ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("authorities: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("authorities: %s has no certificate in PEM form", t.CAFile)
		}
	}
	return c, nil
}
