package check

import (
	"maps"
	"slices"

	"github.com/treadle-run/treadle/grapher/problem"
	"github.com/treadle-run/treadle/grapher/spec"
)

// Check is one thing that specs are checked for.
type Check struct {
	Name     string           `json:"name"`
	Severity problem.Severity `json:"severity"` // unless the configuration lowers it
	Doc      string           `json:"doc"`      // one line: what is found wrong
}

// check is a row of the table. At most one of the functions is set, by how much
// the check must see; none if the check is made while a file is decoded, or by
// CheckApp.
type check struct {
	Check
	specs    func(p *pass)
	sequence func(p *pass, s *spec.Sequence)
	node     func(p *pass, s *spec.Sequence, n *spec.Node)
}

// MayWarn returns the names of the checks that the configuration can turn into
// warnings, sorted.
func MayWarn() []string { return slices.Sorted(maps.Keys(mayWarn)) }

// mayWarn has the checks that the configuration can turn into warnings, because
// specs exist that only ever were warned about them.
var mayWarn = map[string]bool{"duplicate-key": true, "parallel-sets": true, "unknown-arg": true, "unknown-field": true}

// checks is the table of all checks, in the order in which docs show them.
var checks = []check{
	{Check: Check{"unreadable", problem.Error, "The file or directory cannot be read, or is a link to nothing, a pipe or a device."}},
	{Check: Check{"yaml", problem.Error, "The file is not YAML."}},
	{Check: Check{"file-size", problem.Error, "The file has more than 4 MiB."}},
	{Check: Check{"alias-bomb", problem.Error, "Aliases expand the file by more than 100,000 values, or refer to what contains them."}},
	{Check: Check{"nesting", problem.Error, "Lists and objects are nested deeper than 100 levels."}},
	{Check: Check{"warn-option", problem.Error, "The configuration asks for a warning where only an error is possible."}},
	{Check: Check{"duplicate-key", problem.Error, "An object has the same key twice."}},
	{Check: Check{"unknown-field", problem.Error, "A field is unknown in this place."}},
	{Check: Check{"wrong-type", problem.Error, "A value has the wrong type, or is null where a value is required."}},

	{Check: Check{"duplicate-sequence", problem.Error, "Two sequences have the same name."}, specs: checkDuplicateSequence},
	{Check: Check{"name", problem.Error, "A name is empty, too long, or has control characters or slashes; only job types may have slashes."}, sequence: checkNames},
	{Check: Check{"no-nodes", problem.Error, "A sequence has no nodes."}, sequence: checkNoNodes},
	{Check: Check{"category", problem.Error, "A node has no category, or an unknown one."}, node: checkCategory},
	{Check: Check{"type", problem.Error, "A job or sequence node has no `type`, or a conditional has one."}, node: checkType},
	{Check: Check{"conditional", problem.Error, "A conditional has no `if` or `eq`, or another node has one."}, node: checkConditional},
	{Check: Check{"unknown-job-type", problem.Error, "No job type of that name is registered."}, node: checkJobType},
	{Check: Check{"unknown-sequence", problem.Error, "A node calls a sequence that does not exist."}, node: checkCalls},
	{Check: Check{"call-cycle", problem.Error, "Sequences call each other in a cycle."}, specs: checkCallCycle},
	{Check: Check{"unknown-dep", problem.Error, "A dep is not a node of the sequence."}, node: checkUnknownDep},
	{Check: Check{"dep-cycle", problem.Error, "Deps form a cycle."}, sequence: checkDepCycle},

	{Check: Check{"duplicate-arg", problem.Error, "A sequence has two args with the same name."}, sequence: checkDuplicateArg},
	{Check: Check{"required-default", problem.Error, "A required arg has a default."}, sequence: checkRequiredDefault},
	{Check: Check{"missing-default", problem.Error, "An optional or static arg has no default."}, sequence: checkMissingDefault},
	{Check: Check{"arg-rules", problem.Error, "The `type`, `enum` or `pattern` of an arg makes no sense."}, sequence: checkArgRules},
	{Check: Check{"bad-default", problem.Error, "A default does not fit the `type`, `enum` or `pattern` of its arg."}, sequence: checkBadDefault},

	{Check: Check{"unnamed", problem.Error, "An entry of `args` has no `expected`, or one of `sets` no `arg`."}, node: checkUnnamed},
	{Check: Check{"given-and-value", problem.Error, "An entry of `args` has both `given` and `value`."}, node: checkGivenAndValue},
	{Check: Check{"duplicate-expected", problem.Error, "A node gives the same `expected` twice."}, node: checkDuplicateExpected},
	{Check: Check{"duplicate-as", problem.Error, "A node sets the same arg twice."}, node: checkDuplicateAs},
	{Check: Check{"each-form", problem.Error, "An entry of `each` is not `list:element`."}},
	{Check: Check{"each-element", problem.Error, "An element of `each` is used twice, or is an `expected` too."}, node: checkEachElement},
	{Check: Check{"each-list", problem.Error, "`each` expands an arg whose `type` is not `list`."}, node: checkEachList},
	{Check: Check{"parallel", problem.Error, "`parallel` is not positive, or is used without `each`."}, node: checkParallel},
	{Check: Check{"collect", problem.Error, "`collect` is used without `each`."}, node: checkCollect},
	{Check: Check{"retry-wait", problem.Error, "`retryWait` is not a duration, or is used without `retry`."}, node: checkRetryWait},
	{Check: Check{"retry-backoff", problem.Error, "`retryBackoff` or `retryWaitMax` is malformed or out of range, or is used without what it acts on."}, node: checkRetryBackoff},
	{Check: Check{"timeout", problem.Error, "`timeout` is not a duration more than 0, or is used on a sequence that is not a request."}, sequence: checkTimeout},
	{Check: Check{"idempotent", problem.Error, "`idempotent` is used on a node that is not a job."}, node: checkIdempotent},

	{Check: Check{"acl-role", problem.Error, "An `acl` entry has no role."}, sequence: checkACLRole},
	{Check: Check{"acl-duplicate", problem.Error, "Two `acl` entries have the same role."}, sequence: checkACLDuplicate},
	{Check: Check{"acl-admin-ops", problem.Error, "An `acl` entry has both `admin` and `ops`."}, sequence: checkACLAdminOps},
	{Check: Check{"acl-op", problem.Error, "An `acl` entry has an unknown op."}, sequence: checkACLOp},

	{Check: Check{"missing-arg", problem.Error, "A node does not give a required arg of the sequence that it calls."}, node: checkMissingArg},
	{Check: Check{"bad-value", problem.Error, "A literal does not fit the `type`, `enum` or `pattern` of the arg that it is given to."}, node: checkBadValue},
	{Check: Check{"job-arg", problem.Error, "A job node lacks an arg that its type requires, or gives a literal that does not fit it."}, node: checkJobArg},
	{Check: Check{"unknown-arg", problem.Error, "A job node gives an arg that its type does not take."}, node: checkUnknownArg},
	{Check: Check{"missing-set", problem.Error, "A node sets an arg that its job type, or a sequence which it may call, does not set."}, node: checkMissingSet},
	{Check: Check{"arg-not-set", problem.Error, "A node uses an arg that is not set before it on every path."}, sequence: checkArgNotSet},
	{Check: Check{"parallel-sets", problem.Error, "Two nodes that may run in parallel set the same arg."}, sequence: checkParallelSets},

	{Check: Check{"duplicate-app", problem.Error, "Two apps have the same name."}, specs: checkApps},
	{Check: Check{"app-name", problem.Error, "The name of an app is empty, too long, or has characters other than letters, digits, `.`, `-`, `_`."}},
	{Check: Check{"app-request", problem.Error, "An app has no `request`, or its `request` or `undo` does not exist."}},
	{Check: Check{"app-args", problem.Error, "The `args` of an app do not fit its request or its `undo`, or one of them is secret."}},
	{Check: Check{"app-when", problem.Error, "An app does not have exactly one of `every`, `cron`, `starts`, `depends`."}},
	{Check: Check{"app-cron", problem.Error, "`cron` is malformed."}},
	{Check: Check{"app-days", problem.Warning, "A `cron` starts only on days that match both its day of month and its day of week, because one of them starts with `*`."}},
	{Check: Check{"app-never", problem.Error, "`cron` names a time that never comes, such as February 31."}},
	{Check: Check{"app-zone", problem.Error, "`timezone` is not a time zone."}},
	{Check: Check{"app-period", problem.Error, "A period does not exist, is not the same for all upstream apps, is finer than what it is made up of, or cannot be made up of it."}},
	{Check: Check{"app-depends", problem.Error, "An upstream app does not exist."}},
	{Check: Check{"app-cycle", problem.Error, "Apps depend on each other in a cycle."}},
	{Check: Check{"app-duration", problem.Error, "A duration of an app is malformed, not more than 0, too short, or a `jitter` longer than the time between two starts."}},
	{Check: Check{"app-policy", problem.Error, "`missed`, `missedCap`, `overlap`, `gap` or `fold` is unknown, or has no effect in this app."}},
	{Check: Check{"app-host", problem.Error, "`host` is too long, or has spaces, slashes or control characters."}},

	{Check: Check{"literal", problem.Warning, "A number or boolean is written in a form that YAML changes, such as `1.10`, `0644` or `1_000`."}},
	{Check: Check{"renamed-twice", problem.Warning, "A node gives one arg under two names."}, node: checkRenamedTwice},
	{Check: Check{"each-and-given", problem.Warning, "A node has the same list in `each` and in `given`."}, node: checkEachAndGiven},
	{Check: Check{"extra-arg", problem.Warning, "An arg is given to a sequence that does not take it."}, node: checkExtraArg},
	{Check: Check{"static-given", problem.Warning, "A node gives an arg that is static in the sequence that it calls."}, node: checkStaticGiven},
	{Check: Check{"job-default", problem.Warning, "A node gives a job an arg whose default does not fit what the job type takes."}, node: checkJobDefault},
	{Check: Check{"if-given", problem.Warning, "A conditional gives, by `args` or `each`, an arg with the name of the one that its `if` takes from the sequence."}, node: checkIfGiven},
	{Check: Check{"each-sets", problem.Warning, "The expansions of an `each` all set the same arg, without `collect`."}, node: checkEachSets},
	{Check: Check{"unused-set", problem.Warning, "An arg is set and never used."}, sequence: checkUnusedSet},
	{Check: Check{"unused-sequence", problem.Warning, "Nothing calls the sequence, and no user can ask for it."}, sequence: checkUnusedSequence},
	{Check: Check{"loose-pattern", problem.Warning, "A `pattern` has no anchor: a value matches if any part of it does."}, sequence: checkLoosePattern},
	{Check: Check{"redundant-dep", problem.Warning, "Another dep of the node already implies a dep."}, sequence: checkRedundantDep},
}

// All returns all checks in the order of the reference.
func All() []Check {
	list := make([]Check, len(checks))
	for i := range checks {
		list[i] = checks[i].Check
	}
	return list
}

// Severity returns how bad a problem of the check is.
func Severity(name string, warn map[string]bool) problem.Severity {
	if warn[name] || warnings[name] {
		return problem.Warning
	}
	return problem.Error
}

// warnings has the checks of the table that only warn. The table itself cannot be
// asked by the functions that are in it.
var warnings = map[string]bool{}

func init() {
	for _, c := range checks {
		warnings[c.Name] = c.Severity == problem.Warning
	}
}
