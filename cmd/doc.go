// Package cmd is the command line of Treadle: one program with a verb for each
// service and for each thing that a user asks of a Request Manager.
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
// The services are here, the other verbs in a package of internal/ each: requests, apps
// (recurring work), fleet (Job Runners) and tools (specs and the database). A verb is a
// function that gets what it uses as parameters: the Request Manager to ask, where to
// print, stdin. What verbs share is in internal/verb, output in internal/term.
//
// None of these packages has logic of requests or chains: they start the two app
// packages, which run the services, or use the client of the Request Manager.
package cmd
