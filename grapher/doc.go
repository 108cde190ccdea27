// Package grapher turns specs into graphs: it reads the YAML files of a specs
// directory, checks them against a table of named checks, checks the args of a
// request, and builds the job chain of the request in one recursive walk.
//
// It is pure but for reading files: no database, no network, no clock. It may
// import job and proto.
package grapher
