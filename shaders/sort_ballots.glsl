// Twin of sort_scatter.glsl where the threads of a subgroup vote: an element's place among those of its digit is the
// number of votes before its own, so a tile goes through shared memory once.
#include "sort.glsl"

const uint kTile = 256u * ITEMS, kSubgroups = 256u / SG_BALLOTS;

shared uint exchange[kTile], bases[256];
shared uint places[kSubgroups * 256];  // [subgroup, digit]: how many there are, then where the first one goes

// The threads of the subgroup that have the same digit, as bits.
uint peers(uint digit) {
  uint same = 0xffffffffu >> (32u - SG_BALLOTS);
  UNROLL for (uint b = 0u; b < 8u; ++b) {
    const bool bit = ((digit >> b) & 1u) != 0u;
    const uint those = subgroupBallot(bit).x;
    same &= bit ? those : ~those;
  }
  return same;
}

// Puts values where they go; each thread gets every 256th from its own on.
void deal(inout uint value[ITEMS], uint to[ITEMS]) {
  UNROLL for (uint k = 0u; k < ITEMS; ++k) exchange[to[k]] = value[k];
  barrier();
  UNROLL for (uint k = 0u; k < ITEMS; ++k) value[k] = exchange[k * 256u + thread];
  barrier();
}

void main() {
  const uint n = uint(word(0)), tiles = uint(word(1)), shift = uint(word(2));
  const Offset row = group() / tiles;
  if (row >= Offset(word(3))) return;
  const uint tile = uint(group() - row * tiles), count = min(n - tile * kTile, kTile);
  const Offset line = row * Offset(256) + thread, tile_at = (row * n + tile * kTile) * Offset(4);
  const uint own = gl_SubgroupID * 256u, first = gl_SubgroupID * SG_BALLOTS * ITEMS + gl_SubgroupInvocationID;

  UNROLL for (uint i = 0u; i < kSubgroups; ++i) places[i * 256u + thread] = 0u;
  uint key[ITEMS], place[ITEMS], to[ITEMS];
  const Address keys = address_add(tensor(0), tile_at);
  UNROLL for (uint k = 0u; k < ITEMS; ++k) {
    const uint at = first + k * SG_BALLOTS;
    key[k] = at < count ? uint(Int32(address_add(keys, Offset(4) * at)).at[0]) : 0xffffffffu;
  }
  barrier();
  UNROLL for (uint k = 0u; k < ITEMS; ++k) {
    const uint digit = (key[k] >> shift) & 255u, same = peers(digit);
    const uint rank = bitCount(same & ((1u << gl_SubgroupInvocationID) - 1u)), before = places[own + digit];
    subgroupBarrier();
    if (rank == 0u) places[own + digit] = before + bitCount(same);
    subgroupBarrier();
    to[k] = before + rank;
  }
  barrier();

  uint sum = 0u;
  UNROLL for (uint i = 0u; i < kSubgroups; ++i) {
    const uint here = places[i * 256u + thread];
    places[i * 256u + thread] = sum;
    sum += here;
  }
  uint all;
  const uint start = exclusive(sum, all);
  UNROLL for (uint i = 0u; i < kSubgroups; ++i) places[i * 256u + thread] += start;
  const uint base = exclusive(uint(Int32(address_add(tensor(2), line * Offset(4))).at[0]), all);
  bases[thread] = base + uint(Int32(address_add(tensor(1), (line * tiles + tile) * Offset(4))).at[0]) - start;
  barrier();

#ifdef PLACED
  const Address from = address_add(tensor(4), tile_at);
#endif
  UNROLL for (uint k = 0u; k < ITEMS; ++k) {
    const uint at = first + k * SG_BALLOTS;
    to[k] += places[own + ((key[k] >> shift) & 255u)];
#ifdef PLACED
    place[k] = at < count ? uint(Int32(address_add(from, Offset(4) * at)).at[0]) : 0u;
#else
    place[k] = tile * kTile + at;
#endif
  }
  deal(key, to);
  deal(place, to);
  UNROLL for (uint k = 0u; k < ITEMS; ++k) {
    const uint at = k * 256u + thread;
    if (at >= count) break;
    const Offset target = (row * n + (bases[(key[k] >> shift) & 255u] + at)) * Offset(4);
    Int32(address_add(tensor(3), target)).at[0] = int(place[k]);
#ifdef KEYS_OUT
    Int32(address_add(tensor(5), target)).at[0] = int(key[k]);
#endif
  }
}
