// Package verb has what verbs share: exit codes and errors, reading of arguments,
// environment and configuration, and the client of the Request Manager.
//
// A verb is a function that gets what it uses (a Manager, an Out, streams) and
// returns its cobra command. The package knows no verb.
package verb
