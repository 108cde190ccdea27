package api

// Services are what the handlers call, by noun; each interface stands with its
// handlers. Errors for the caller are *proto.Error; any other error is answered as
// "internal error".
type Services struct {
	Requests Requests
	Reader   Reader
	Logs     Logs
	Watcher  Watcher
	Reports  Reports
	Runners  Runners

	Apps      Apps
	Instances Instances
	Ledger    Ledger
	Members   Members
}
