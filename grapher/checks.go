package grapher

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
)

// Check is one thing that specs are checked for.
type Check struct {
	Name     string   `json:"name"`
	Severity Severity `json:"severity"` // unless the configuration lowers it
	Doc      string   `json:"doc"`      // one line: what is found wrong
}

// check is a row of the table. At most one of the functions is set, by how much
// the check must see; none if the check is made while a file is decoded, or by
// CheckApp.
type check struct {
	Check
	specs    func(p *pass)
	sequence func(p *pass, s *Sequence)
	node     func(p *pass, s *Sequence, n *Node)
}

// mayWarn has the checks that the configuration can turn into warnings, because
// specs exist that only ever were warned about them.
var mayWarn = map[string]bool{"unknown-field": true, "parallel-sets": true}

// checks is the table of all checks, in the order in which docs show them.
var checks = []check{
	{Check: Check{"unreadable", SeverityError, "The file or directory cannot be read, or is a link to nothing, a pipe or a device."}},
	{Check: Check{"yaml", SeverityError, "The file is not YAML."}},
	{Check: Check{"file-size", SeverityError, "The file has more than 4 MiB."}},
	{Check: Check{"alias-bomb", SeverityError, "Aliases make the file larger by more than 100,000 values, or refer to what they stand in."}},
	{Check: Check{"nesting", SeverityError, "Lists and objects are nested deeper than 100 levels."}},
	{Check: Check{"warn-option", SeverityError, "The configuration asks for a warning where only an error is possible."}},
	{Check: Check{"duplicate-key", SeverityError, "An object has a key twice."}},
	{Check: Check{"unknown-field", SeverityError, "A field is unknown at this place."}},
	{Check: Check{"wrong-type", SeverityError, "A value is of the wrong type, or null where something must be."}},

	{Check: Check{"duplicate-sequence", SeverityError, "Two sequences have one name, or one has the name of a built-in sequence."}, specs: checkDuplicateSequence},
	{Check: Check{"name", SeverityError, "A name is empty, too long, or has control characters or slashes; only job types may have slashes."}, sequence: checkNames},
	{Check: Check{"no-nodes", SeverityError, "A sequence has no nodes."}, sequence: checkNoNodes},
	{Check: Check{"category", SeverityError, "A node has no category, or an unknown one."}, node: checkCategory},
	{Check: Check{"type", SeverityError, "A job or sequence node has no `type`, or a conditional has one."}, node: checkType},
	{Check: Check{"conditional", SeverityError, "A conditional has no `if` or `eq`, or another node has one."}, node: checkConditional},
	{Check: Check{"unknown-job-type", SeverityError, "No job type of that name is registered."}, node: checkJobType},
	{Check: Check{"unknown-sequence", SeverityError, "A node calls a sequence that does not exist."}, node: checkCalls},
	{Check: Check{"sequence-circle", SeverityError, "Sequences call each other in a circle."}, specs: checkSequenceCircle},
	{Check: Check{"unknown-dep", SeverityError, "A dep is not a node of the sequence."}, node: checkUnknownDep},
	{Check: Check{"dep-circle", SeverityError, "Deps go in a circle."}, sequence: checkDepCircle},

	{Check: Check{"duplicate-arg", SeverityError, "A sequence has two args of one name."}, sequence: checkDuplicateArg},
	{Check: Check{"required-default", SeverityError, "A required arg has a default."}, sequence: checkRequiredDefault},
	{Check: Check{"missing-default", SeverityError, "An optional or static arg has no default."}, sequence: checkMissingDefault},
	{Check: Check{"arg-rules", SeverityError, "The `type`, `enum` or `pattern` of an arg makes no sense."}, sequence: checkArgRules},
	{Check: Check{"bad-default", SeverityError, "A default does not fit the `type`, `enum` or `pattern` of its arg."}, sequence: checkBadDefault},

	{Check: Check{"unnamed", SeverityError, "An entry of `args` has no `expected`, or one of `sets` no `arg`."}, node: checkUnnamed},
	{Check: Check{"given-and-value", SeverityError, "An entry of `args` has both `given` and `value`."}, node: checkGivenAndValue},
	{Check: Check{"duplicate-expected", SeverityError, "A node gives the same `expected` twice."}, node: checkDuplicateExpected},
	{Check: Check{"duplicate-as", SeverityError, "A node sets the same arg twice."}, node: checkDuplicateAs},
	{Check: Check{"each-form", SeverityError, "An entry of `each` is not `list:element`."}},
	{Check: Check{"each-element", SeverityError, "An element of `each` is used twice, or is an `expected` too."}, node: checkEachElement},
	{Check: Check{"parallel", SeverityError, "`parallel` is not positive, or is there without `each`."}, node: checkParallel},
	{Check: Check{"collect", SeverityError, "`collect` is there without `each`."}, node: checkCollect},
	{Check: Check{"retry-wait", SeverityError, "`retryWait` is no duration, or is there without `retry`."}, node: checkRetryWait},
	{Check: Check{"retry-backoff", SeverityError, "`retryBackoff` or `retryWaitMax` is malformed, or is there without what it acts on."}, node: checkRetryBackoff},
	{Check: Check{"timeout", SeverityError, "`timeout` is no duration or not more than 0, or stands on a sequence that is no request."}, sequence: checkTimeout},
	{Check: Check{"idempotent", SeverityError, "`idempotent` stands on a node that is no job."}, node: checkIdempotent},

	{Check: Check{"acl-role", SeverityError, "An `acl` entry has no role."}, sequence: checkACLRole},
	{Check: Check{"acl-duplicate", SeverityError, "Two `acl` entries have one role."}, sequence: checkACLDuplicate},
	{Check: Check{"acl-admin-ops", SeverityError, "An `acl` entry has both `admin` and `ops`."}, sequence: checkACLAdminOps},
	{Check: Check{"acl-op", SeverityError, "An `acl` entry has an unknown op."}, sequence: checkACLOp},

	{Check: Check{"missing-arg", SeverityError, "A node does not give a required arg of the sequence that it calls."}, node: checkMissingArg},
	{Check: Check{"bad-value", SeverityError, "A literal does not fit the `type`, `enum` or `pattern` of the arg that it is given to."}, node: checkBadValue},
	{Check: Check{"missing-set", SeverityError, "A node sets an arg that a sequence which it may call does not set."}, node: checkMissingSet},
	{Check: Check{"arg-not-set", SeverityError, "A node uses an arg that is not surely set before it on every path."}, sequence: checkArgNotSet},
	{Check: Check{"parallel-sets", SeverityError, "Two nodes that may run in parallel set the same arg."}, sequence: checkParallelSets},

	{Check: Check{"duplicate-app", SeverityError, "Two apps have one name."}, specs: checkApps},
	{Check: Check{"app-name", SeverityError, "The name of an app is empty, too long, or has other than letters, digits, `.`, `-`, `_`."}},
	{Check: Check{"app-request", SeverityError, "An app has no `request`, or its `request` or `undo` is none that exists."}},
	{Check: Check{"app-args", SeverityError, "The `args` of an app do not fit its request or its `undo`, or one of them is secret."}},
	{Check: Check{"app-when", SeverityError, "An app has none of `every`, `cron`, `starts`, `depends`, or several."}},
	{Check: Check{"app-cron", SeverityError, "`cron` is malformed."}},
	{Check: Check{"app-never", SeverityError, "`cron` is a time that never comes, such as February 31."}},
	{Check: Check{"app-zone", SeverityError, "`timezone` is no time zone."}},
	{Check: Check{"app-period", SeverityError, "A period does not exist, is not the same for all upstream apps, is finer than what it is made up of, or cannot be made up of it."}},
	{Check: Check{"app-depends", SeverityError, "An upstream app does not exist."}},
	{Check: Check{"app-circle", SeverityError, "Apps depend on each other in a circle."}},
	{Check: Check{"app-duration", SeverityError, "A duration of an app is malformed, not more than 0, too short, or a `jitter` longer than the time between two starts."}},
	{Check: Check{"app-policy", SeverityError, "`missed`, `missedCap`, `overlap`, `gap` or `fold` is unknown, or has no effect where it stands."}},
	{Check: Check{"app-host", SeverityError, "`host` is too long, or has spaces or slashes."}},

	{Check: Check{"renamed-twice", SeverityWarning, "A node gives one arg under two names."}, node: checkRenamedTwice},
	{Check: Check{"each-and-given", SeverityWarning, "A node has the same list in `each` and in `given`."}, node: checkEachAndGiven},
	{Check: Check{"extra-arg", SeverityWarning, "An arg is given to a sequence that does not take it."}, node: checkExtraArg},
	{Check: Check{"unused-set", SeverityWarning, "An arg is set and never used."}, sequence: checkUnusedSet},
	{Check: Check{"unused-sequence", SeverityWarning, "Nothing calls the sequence, and no user can ask for it."}, sequence: checkUnusedSequence},
	{Check: Check{"loose-pattern", SeverityWarning, "A `pattern` has no anchor: a value matches if any part of it does."}, sequence: checkLoosePattern},
	{Check: Check{"redundant-dep", SeverityWarning, "Another dep of the node already implies a dep."}, sequence: checkRedundantDep},
}

// Checks returns all checks in the order of the reference.
func Checks() []Check {
	list := make([]Check, len(checks))
	for i := range checks {
		list[i] = checks[i].Check
	}
	return list
}

// severity returns how bad a problem of the check is.
func severity(name string, warn map[string]bool) Severity {
	if warn[name] || warnings[name] {
		return SeverityWarning
	}
	return SeverityError
}

// warnings has the checks of the table that only warn. The table itself cannot be
// asked by the functions that are in it.
var warnings = map[string]bool{}

func init() {
	for _, c := range checks {
		warnings[c.Name] = c.Severity == SeverityWarning
	}
}

// checker runs the checks that come after decoding.
type checker struct {
	*Specs
	warn       map[string]bool
	sequences  []*Sequence // by name, duplicates left out
	duplicates []*Sequence
	apps       map[string]*App
	twiceApps  []*App
	nodes      map[string][]*Node         // by name of sequence: its nodes by name
	called     map[string][]*Node         // by name of sequence: the nodes that call it
	flow       *flow                      // of the sequence that is being checked
	callable   []string                   // what a node can call; see names
	failed     map[Pos]bool               // where decoding found a value of the wrong type
	provided   map[string]map[string]bool // by name of sequence; see provides
	suggest    *suggester
	problemList
}

// failedAt reports whether decoding found a value of the wrong type on a line of
// the file of s. That something is missing there needs no second problem then.
func (c *checker) failedAt(s *Sequence, line int) bool { return c.failed[Pos{s.File, line}] }

func newChecker(s *Specs, warn map[string]bool, decoding Problems) *checker {
	c := &checker{Specs: s, warn: warn, apps: map[string]*App{}, nodes: map[string][]*Node{}, called: map[string][]*Node{}, failed: map[Pos]bool{}, provided: map[string]map[string]bool{}, suggest: newSuggester()}
	for _, p := range decoding {
		if p.Check == "wrong-type" {
			c.failed[Pos{p.File, p.Line}] = true
		}
	}
	return c
}

// addSequence takes a sequence in. The first of a name counts.
func (c *checker) addSequence(s *Sequence) {
	if _, ok := c.Sequences[s.Name]; ok || s.Name == NoopSequence {
		c.duplicates = append(c.duplicates, s)
		return
	}
	c.Sequences[s.Name] = s
}

// run runs all checks, and orders the nodes of the sequences.
func (c *checker) run() {
	for _, name := range slices.Sorted(maps.Keys(c.Sequences)) {
		s := c.Sequences[name]
		c.sequences = append(c.sequences, s)
		c.nodes[name] = slices.SortedFunc(maps.Values(s.Nodes), func(a, b *Node) int { return cmp.Compare(a.Name, b.Name) })
		for _, n := range c.nodes[name] {
			for _, callee := range n.Calls() {
				c.called[callee] = append(c.called[callee], n)
			}
		}
	}
	for i := range checks {
		if k := &checks[i]; k.specs != nil {
			k.specs(&pass{checker: c, check: k.Name})
		}
	}
	for _, s := range c.sequences {
		c.checkSequence(s)
	}
}

func (c *checker) checkSequence(s *Sequence) {
	nodes := c.nodes[s.Name]
	if g := newGraph(s); g != nil {
		s.order = g.nodes
		c.flow = newFlow(s, g)
	} else {
		c.flow = newFlowWithoutOrder(nodes, c.provides(s))
	}
	p := &pass{checker: c, seq: s}
	for i := range checks {
		k := &checks[i]
		p.check, p.node = k.Name, nil
		if k.sequence != nil {
			k.sequence(p, s)
		}
		if k.node == nil {
			continue
		}
		for _, n := range nodes {
			p.node = n
			k.node(p, s, n)
		}
	}
	s.dropFields()
}

// pass is one check at work on one place.
type pass struct {
	*checker
	check string
	seq   *Sequence // nil in checks of all specs
	node  *Node     // nil in checks of a sequence
}

// problem reports what is wrong, on a line of the file of the sequence.
func (p *pass) problem(line int, format string, args ...any) {
	x := Problem{
		File: p.seq.File, Line: line, Check: p.check, Severity: severity(p.check, p.warn),
		Sequence: p.seq.Name, Message: fmt.Sprintf(format, args...),
	}
	if p.node != nil {
		x.Node = p.node.Name
	}
	p.add(x)
}

// on returns the pass for a node or, with a nil node, for a whole sequence.
func (p *pass) on(s *Sequence, n *Node) *pass {
	return &pass{checker: p.checker, check: p.check, seq: s, node: n}
}
