package grapher

import (
	"slices"
	"strconv"

	"github.com/treadle-run/treadle/proto"
)

// maxSlug is the limit of bytes of a node's name in a job id. A dash and the
// counter fit into the rest of the 32 bytes.
const maxSlug = 22

// slug returns name as it stands in a job id: letters, digits and dashes.
func slug(name string) string {
	out := make([]byte, 0, maxSlug)
	for i := 0; i < len(name) && len(out) < maxSlug; i++ {
		c := name[i]
		switch {
		case c >= 'A' && c <= 'Z':
			out = append(out, c-'A'+'a')
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9':
			out = append(out, c)
		case len(out) > 0 && out[len(out)-1] != '-':
			out = append(out, '-')
		}
	}
	if len(out) > 0 && out[len(out)-1] == '-' {
		out = out[:len(out)-1]
	}
	if len(out) == 0 {
		return "job"
	}
	return string(out)
}

// newID returns an id that the chain does not have yet. The counter at its end
// makes it unique, whatever the slug.
func (b *builder) newID(slug string) string {
	b.ids++
	return slug + "-" + strconv.FormatUint(b.ids, 36)
}

// finish makes the chain of what the walk built.
func (b *builder) finish() (*proto.JobChain, error) {
	b.graph.simplify()
	for _, v := range b.graph.joints {
		j := b.graph.vertices[v].job
		j.ID = b.newID(slug(j.Name))
	}
	jc := &proto.JobChain{
		RequestID: b.requestID,
		State:     proto.StatePending,
		Jobs:      make(map[string]*proto.Job, b.jobs+len(b.graph.joints)),
		Sequences: make(map[string]*proto.Sequence, len(b.sequences)),
		Parallel:  b.parallel,
		Secrets:   b.secrets,
	}
	b.finishSequences(jc)
	if err := b.finishEdges(jc); err != nil {
		return nil, err
	}
	return jc, nil
}

// finishSequences gives every sequence its id and every job that of its sequence.
func (b *builder) finishSequences(jc *proto.JobChain) {
	if b.jobs == 0 {
		return
	}
	for _, v := range b.graph.joints {
		// Only a sequence without own jobs goes by a joint.
		if seq := &b.sequences[b.graph.vertices[v].sequence]; seq.first < 0 {
			seq.first = v
		}
	}
	ids := make([]string, len(b.sequences))
	for i := range b.sequences {
		seq := &b.sequences[i]
		if seq.first < 0 {
			ids[i] = b.newID(slug(seq.Name))
		} else {
			first := b.graph.vertices[seq.first].job
			ids[i] = first.ID
			first.SequenceRetry, first.SequenceRetryWait = seq.Retry, seq.RetryWait
		}
		if seq.parent >= 0 {
			seq.Parent = ids[seq.parent]
		}
		jc.Sequences[ids[i]] = &seq.Sequence
	}
	for i := range b.graph.vertices {
		b.graph.vertices[i].job.SequenceID = ids[b.graph.vertices[i].sequence]
	}
}

// finishEdges fills in jobs and edges. Its checks guard against mistakes here,
// not in specs.
func (b *builder) finishEdges(jc *proto.JobChain) error {
	vertices := b.graph.vertices
	next := make([][]string, len(vertices))
	size := b.graph.countNext()
	edges := 0
	for _, n := range size {
		edges += n
	}
	room := make([]string, edges)
	for i, n := range size {
		next[i], room = room[:0:n], room[n:]
	}
	left := 0
	for i := range vertices {
		v := &vertices[i]
		if v.dropped {
			continue
		}
		left++
		jc.Jobs[v.job.ID] = v.job
		for _, u := range v.prev {
			if u >= int32(i) || vertices[u].dropped {
				return proto.Errorf(proto.CodeInternal, "the job chain of request %s came out wrong at job %s", b.requestID, v.job.ID)
			}
			next[u] = append(next[u], v.job.ID)
		}
	}
	if len(jc.Jobs) != left {
		return proto.Errorf(proto.CodeInternal, "the job chain of request %s came out with job ids that are not unique", b.requestID)
	}
	jc.AdjacencyList = make(map[string][]string, len(vertices))
	for i, ids := range next {
		if len(ids) > 0 {
			slices.Sort(ids)
			jc.AdjacencyList[vertices[i].job.ID] = ids
		}
	}
	return nil
}
