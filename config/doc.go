// Package config reads the configuration of a service: YAML first, environment
// over it, into a struct whose fields name their keys in `yaml` tags.
//
// Every key has one environment variable: its path in capitals with "_" for ".",
// after "TREADLE_" (server.addr: TREADLE_SERVER_ADDR). It also has the parts of a
// configuration that both services have: TLS, log, cluster.
//
// It knows no service and imports no other package of Treadle.
package config
