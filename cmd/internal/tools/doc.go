// Package tools has the verbs that need no Request Manager: they check specs, show the
// jobs of a request, and migrate and check the database. A file has a verb.
package tools
