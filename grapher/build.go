package grapher

import (
	"context"
	"maps"

	"github.com/treadle-run/treadle/grapher/spec"
	"github.com/treadle-run/treadle/internal/mask"
	"github.com/treadle-run/treadle/proto"
)

// emptyPerJob says how many expansions without any job a chain may have for
// each job that the limit allows. They leave nothing in the chain, but lists in
// lists of them could keep Build busy for ever.
const emptyPerJob = 10

// maxCopied is the limit of values in the args of all jobs of a chain together. A long
// list that every expansion of a wide node gets would otherwise fill the memory long
// before the jobs reach their limit.
const maxCopied = 20_000_000

// maxText is the limit of bytes of text in the args of all jobs of a chain together. In
// memory they share a text that all of them get, but the chain is written out to be
// stored and sent, with every text in full.
const maxText = 128 << 20

// Build makes the job chain of a request. Args are complete: what the caller
// gave, with defaults and statics, as RequestArgs returns them. They are not
// changed. Secrets are values that must not be shown; they go to the chain.
//
// The job type of every job has its Create called, in topological order, ties by
// name; nothing else of a job runs. The same specs and args give the same chain,
// as far as the job types do.
//
// The error is a proto.Error: CodeUnprocessable, naming sequence, node and
// place in the spec, if no chain can be made of these args; CodeInvalid for an
// unknown request type; CodeUnavailable if ctx ends first. The cause of an error
// by a job type that panicked is the job.PanicError.
func (s *Specs) Build(ctx context.Context, requestID, requestType string, args proto.Values, secrets []string) (*proto.JobChain, error) {
	seq, ok := s.Sequences[requestType]
	if !ok || !seq.Request {
		return nil, proto.Errorf(proto.CodeInvalid, "unknown request type %q", requestType)
	}
	if s.registry == nil {
		return nil, proto.Errorf(proto.CodeInternal, "the specs were loaded without job types: no chain can be built from them")
	}
	own := maps.Clone(args)
	if own == nil {
		own = proto.Values{}
	}
	if err := own.Normalize(); err != nil {
		return nil, proto.Errorf(proto.CodeInvalid, "arg %v", err)
	}
	b := newBuilder(s, requestID, secrets)
	if err := b.request(ctx, seq, own); err != nil {
		return nil, err
	}
	return b.finish()
}

// builder is the state of one Build.
type builder struct {
	specs     *Specs
	requestID string
	plans     map[string]*plan // by name of the sequence
	secrets   []string
	secret    map[string]bool // what is in secrets
	mask      mask.Masker     // of the first maskOf secrets
	maskOf    int

	graph     chainGraph
	sequences []builtSequence
	parallel  map[string]uint // limit by group

	ids     uint64 // used up so far
	jobs    int    // made so far
	empties int    // expansions so far that made no job
	copied  int    // values copied into args of jobs so far
	text    int    // bytes of text in args of jobs so far

	maxCopied int
	maxText   int
}

func newBuilder(s *Specs, requestID string, secrets []string) *builder {
	b := &builder{
		specs:     s,
		requestID: requestID,
		plans:     map[string]*plan{},
		secret:    map[string]bool{},
		parallel:  map[string]uint{},
		maxCopied: maxCopied,
		maxText:   maxText,
	}
	for _, text := range secrets {
		b.addSecret(text)
	}
	return b
}

// builtSequence is a sequence of the chain while it is built.
type builtSequence struct {
	proto.Sequence
	parent int32 // -1 for that of the request
	first  int32 // vertex of its first own job; -1 if it has none
}

// visit is a sequence while the walk is in it.
type visit struct {
	plan   *plan
	args   proto.Values
	index  int32      // in builder.sequences
	depth  int        // 1 for the sequence of the request
	caller *spec.Node // that called the sequence; nil for that of the request
	outer  *visit     // that the caller is in
}

// plan is what the walk needs to know of a sequence, worked out once for all
// its calls.
type plan struct {
	*spec.Sequence
	nodes   []planNode // in topological order, ties by name
	sinks   []int      // nodes that no other node depends on
	sources int        // how many nodes depend on none
}

type planNode struct {
	*spec.Node
	slug       string
	deps       []int // by place in plan.nodes
	dependents int
}

// plan returns the plan of a sequence, and nil if there is no such sequence.
func (b *builder) plan(name string) *plan {
	if p, ok := b.plans[name]; ok {
		return p
	}
	seq, ok := b.specs.Sequences[name]
	if !ok {
		return nil
	}
	p := &plan{Sequence: seq, nodes: make([]planNode, len(seq.Order))}
	place := make(map[string]int, len(seq.Order))
	for i, n := range seq.Order {
		place[n.Name] = i
		p.nodes[i] = planNode{Node: n, slug: slug(n.Name)}
		for _, dep := range n.Deps {
			d := place[dep]
			p.nodes[i].deps = append(p.nodes[i].deps, d)
			p.nodes[d].dependents++
		}
		if len(n.Deps) == 0 {
			p.sources++
		}
	}
	for i := range p.nodes {
		if p.nodes[i].dependents == 0 {
			p.sinks = append(p.sinks, i)
		}
	}
	b.plans[name] = p
	return p
}

// request walks the sequence that the user asked for.
func (b *builder) request(ctx context.Context, seq *spec.Sequence, args proto.Values) error {
	s := &visit{plan: b.plan(seq.Name), args: args, depth: 1}
	b.noteSecrets(s)
	b.sequences = append(b.sequences, builtSequence{
		Sequence: proto.Sequence{Name: seq.Name, Timeout: seq.Timeout},
		parent:   -1, first: -1,
	})
	_, err := b.walk(ctx, s, nil)
	return err
}

// front is what a vertex must come after to come after a node, or before all
// nodes of a sequence.
type front struct {
	ids []int32
	// through says that nothing of the sequence is in ids: they are what came before
	// the sequence.
	through bool
}

// walk builds all nodes of a sequence, behind the vertices in. It returns what
// dependents of the sequence must come after; through is set if the sequence
// has no jobs.
func (b *builder) walk(ctx context.Context, s *visit, in []int32) (front, error) {
	fronts := make([]front, len(s.plan.nodes))
	for i := range s.plan.nodes {
		n := &s.plan.nodes[i]
		f := b.join(fronts, n.deps, in)
		out, err := b.node(ctx, s, n, f.ids)
		if err != nil {
			return front{}, err
		}
		if out != nil {
			f = front{ids: out}
		}
		if n.dependents > 1 {
			f.ids = b.graph.gather(f.ids, n.Name, s.index)
		}
		fronts[i] = f
	}
	return b.join(fronts, s.plan.sinks, in), nil
}

// join returns the front of several nodes together, and in, which came before
// their sequence, if there are none. A node that let through what came before
// the sequence adds nothing to nodes that did not.
func (b *builder) join(fronts []front, nodes []int, in []int32) front {
	joined, several := front{ids: in, through: true}, false
	for _, i := range nodes {
		switch f := fronts[i]; {
		case f.through && joined.through:
			joined.ids = f.ids
		case f.through:
		case joined.through:
			joined = f
		default:
			several = true
		}
	}
	if !several {
		return joined
	}
	var lists [][]int32
	for _, i := range nodes {
		if !fronts[i].through {
			lists = append(lists, fronts[i].ids)
		}
	}
	return front{ids: b.graph.union(lists)}
}

// addSecret notes the text of a value that must not be shown.
func (b *builder) addSecret(text string) {
	if text != "" && !b.secret[text] {
		b.secret[text] = true
		b.secrets = append(b.secrets, text)
	}
}

// noteSecrets notes the values of the secret args of a sequence.
func (b *builder) noteSecrets(s *visit) {
	for _, args := range s.plan.Args.Lists() {
		for _, a := range args {
			if !a.Secret {
				continue
			}
			for _, text := range appendTexts(nil, s.args[a.Name]) {
				b.addSecret(text)
			}
		}
	}
}
