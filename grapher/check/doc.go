// Package check finds what is wrong with decoded specs: a table of named checks, each a
// function from sequences, nodes or apps to problems.
//
// It neither decodes nor builds, and changes nothing but the order of nodes, which it
// works out on the way. Its work is in proportion to nodes and deps, whatever the specs
// are. It may import spec, problem, calendar, job (which types there are) and proto.
package check
