// Package job is what the author of a job type writes against: the Job
// interface and its optional companions, the Result of a try, and the Registry
// that makes jobs by the name of their type.
//
// A job lives twice. In the Request Manager, when a request is created, it is
// made, given its args (Create, or its exported fields by their JSON names) and
// turned into bytes. In a Job Runner, as often as it is tried, it is made anew
// from those bytes and run. Nothing else of it is kept between the two.
//
// The package knows nothing of chains, storage or HTTP and imports proto alone.
package job
