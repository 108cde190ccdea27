// Package verb has what verbs share: how they end and with which exit code, how
// they read the environment, times and configuration, and how they reach the
// Request Manager.
//
// A verb is a function that gets what it uses (a Manager, an Out, streams) and
// returns its cobra command. The package knows no verb.
package verb
