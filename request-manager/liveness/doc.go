// Package liveness tells which Job Runners are dead: a pure function of what a Request
// Manager has read of the registry, and what it remembers between two reads.
//
// It does no I/O and knows no store. It imports proto.
package liveness
