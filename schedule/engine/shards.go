package engine

import (
	"encoding/binary"
	"hash/fnv"

	"github.com/treadle-run/treadle/proto"
	"github.com/treadle-run/treadle/schedule/store"
)

// shardsOf returns the buckets of the shards that are a member's, of n shards: each
// shard is that member's whose hash with it is the highest, so that a member that
// comes or goes moves no shards of others. It also counts the shards.
func shardsOf(id string, live []string, n int) (buckets []store.BucketRange, count int) {
	n = min(max(n, 1), store.Buckets)
	for shard := range n {
		if owner(shard, live) != id {
			continue
		}
		count++
		from, to := uint(shard*store.Buckets/n), uint((shard+1)*store.Buckets/n)
		if last := len(buckets) - 1; last >= 0 && buckets[last].To == from {
			buckets[last].To = to
			continue
		}
		buckets = append(buckets, store.BucketRange{From: from, To: to})
	}
	return buckets, count
}

func owner(shard int, live []string) string {
	var best string
	var top uint64
	for _, id := range live {
		if w := weight(shard, id); best == "" || w > top || w == top && id > best {
			best, top = id, w
		}
	}
	return best
}

func weight(shard int, id string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(id)) // a hash takes all
	_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, uint64(shard)))
	// The last bytes have hardly touched the upper bits: mix them.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	x *= 0xc4ceb9fe1a85ec53
	return x ^ x>>33
}

func memberIDs(members []proto.Member) []string {
	ids := make([]string, len(members))
	for i, n := range members {
		ids[i] = n.ID
	}
	return ids
}
