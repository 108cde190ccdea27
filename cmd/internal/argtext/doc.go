// Package argtext reads the args of a request from a command line: words such as
// host=db1, and files.
package argtext
