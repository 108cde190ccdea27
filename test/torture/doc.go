// Package torture is what the torture tests share: the faults that a seed gives
// (Planner), who does them at their times (Runner), the database and the processes
// that they are done to (Database, Service), and what is found (Findings, Report).
//
// The tests themselves are the packages below, each with a workload and an audit of
// its own: requests runs whole Treadles, schedule runs members of the schedule engine.
// The program is cmd/treadle-torture.
//
// The package imports nothing of Treadle but other helpers of tests, so that audits may
// use it: an audit shares no code with what it checks.
package torture
