// Package e2e runs whole programs together: real Request Manager and Job Runner
// processes of one binary, on SQLite and on MariaDB, spoken to over HTTP as a
// user does.
//
// What is not in a _test file is the harness, which other test packages use
// too: ForEachDB gives a test an Env for each database; an Env starts processes,
// kills them, asks for requests and waits for their states. All of it fails the
// test by itself, and shows what the processes said when a test has failed.
package e2e
