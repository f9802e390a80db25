// A tile of 256 * ITEMS elements, ITEMS neighbours a thread, is split by four bits: stable, in shared memory.
#include "sort.glsl"

const uint kTile = 256u * ITEMS;

// One word in 32 is left out, so that neighbours of different threads lie in different banks.
uint padded(uint i) { return i + (i >> 5); }

shared uint exchange[kTile + kTile / 32u];
// Each thread counts its elements with digit d in the low half of its counter d (below 8) or the high half of d - 8.
shared uint counters[2048 + 64];

// Where each element goes in the tile.
void split(uint digit[ITEMS], out uint rank[ITEMS]) {
  UNROLL for (uint d = 0u; d < 8u; ++d) counters[padded(d * 256u + thread)] = 0u;
  UNROLL for (uint k = 0u; k < ITEMS; ++k) {
    const uint at = padded((digit[k] & 7u) * 256u + thread), shift = (digit[k] >> 3) * 16u;
    const uint count = counters[at];
    rank[k] = (count >> shift) & 0xffffu;
    counters[at] = count + (1u << shift);
  }
  barrier();
  uint sum = 0u;
  UNROLL for (uint j = 0u; j < 8u; ++j) sum += counters[padded(thread * 8u + j)];
  uint total;
  uint before = exclusive(sum, total);
  before += total << 16;  // digits from 8 on come behind all the others
  UNROLL for (uint j = 0u; j < 8u; ++j) {
    const uint at = padded(thread * 8u + j), count = counters[at];
    counters[at] = before;
    before += count;
  }
  barrier();
  UNROLL for (uint k = 0u; k < ITEMS; ++k) {
    const uint shift = (digit[k] >> 3) * 16u;
    rank[k] += (counters[padded((digit[k] & 7u) * 256u + thread)] >> shift) & 0xffffu;
  }
}

// Puts values where they go; each thread gets its ITEMS neighbours again, or, `dealt`, every 256th from its own on.
void move(inout uint value[ITEMS], uint rank[ITEMS], bool dealt) {
  UNROLL for (uint k = 0u; k < ITEMS; ++k) exchange[padded(rank[k])] = value[k];
  barrier();
  UNROLL for (uint k = 0u; k < ITEMS; ++k)
    value[k] = exchange[padded(dealt ? k * 256u + thread : thread * ITEMS + k)];
  barrier();
}
