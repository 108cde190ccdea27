// Package term writes what verbs print: results on stdout, as text or as JSON, and
// remarks on stderr. Whatever text comes from jobs and users is made safe for a
// terminal here.
//
// It knows no verb and no Request Manager; of Treadle it imports proto alone.
package term
