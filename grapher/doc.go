// Package grapher turns specs into graphs. It reads the files of a specs directory
// (Load), has them decoded (spec) and checked (check), holds the args of a request to
// its spec (Specs.RequestArgs), and builds the job chain of the request in one
// recursive walk (Specs.Build).
//
// It is pure but for reading files: no database, no network, no clock. It must not
// know how a chain is stored or run. It may import its own parts, job, calendar, proto
// and internal/mask. Its parts import one way: grapher, check, spec, problem.
package grapher
