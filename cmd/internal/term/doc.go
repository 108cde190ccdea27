// Package term writes what verbs print: results on stdout, as text or as JSON, and
// remarks on stderr. It makes text of jobs and users safe for a terminal.
//
// It knows no verb and no Request Manager; of Treadle it imports proto alone.
package term
