// Package cmd is the command line of Treadle: one program with a verb for each
// service and for all that a user asks of a Request Manager. A file has a verb.
//
// Main is the whole program. A program that registers job types of its own and
// then calls Main is a full treadle:
//
//	func main() {
//		r := builtin.Registry()
//		r.Register("inventory/containers", func() job.Job { return &containers{} })
//		cmd.Main(r)
//	}
//
// The package has no logic of requests or chains: it imports the two app
// packages, which run the services, and the client of the Request Manager.
package cmd
