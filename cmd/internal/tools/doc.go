// Package tools has the verbs that need no Request Manager: they check specs and
// show what they would run, and look after the database. A file has a verb.
package tools
