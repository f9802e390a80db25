// Long rows, last step of a pass: a tile is sorted by its digit in shared memory, then each run of equal digits goes to
// its place in the row. PLACED: elements come with the places they had at first; KEYS_OUT: keys are written as well.
#include "sort_split.glsl"

shared uint bases[256], starts[256];

void load(uint64_t from, uint count, out uint value[ITEMS]) {
  UNROLL for (uint k = 0u; k < ITEMS; ++k) {
    const uint at = k * 256u + thread;
    exchange[padded(at)] = at < count ? uint(Int32(from + 4ul * at).at[0]) : 0xffffffffu;
  }
  barrier();
  UNROLL for (uint k = 0u; k < ITEMS; ++k) value[k] = exchange[padded(thread * ITEMS + k)];
  barrier();
}

void main() {
  const uint n = uint(word(0)), tiles = uint(word(1)), shift = uint(word(2)), bits = uint(word(4));
  const uint64_t row = group() / tiles;
  if (row >= uint64_t(word(3))) return;
  const uint tile = uint(group() - row * tiles), count = min(n - tile * kTile, kTile);
  const uint64_t line = row * 256ul + thread, tile_at = (row * n + tile * kTile) * 4ul;
  uint all;
  const uint base = exclusive(uint(Int32(tensor(2) + line * 4ul).at[0]), all);
  bases[thread] = base + uint(Int32(tensor(1) + (line * tiles + tile) * 4ul).at[0]);

  uint key[ITEMS], place[ITEMS], digit[ITEMS], rank[ITEMS];
  load(tensor(0) + tile_at, count, key);
#ifdef PLACED
  load(tensor(4) + tile_at, count, place);
#else
  UNROLL for (uint k = 0u; k < ITEMS; ++k) place[k] = tile * kTile + thread * ITEMS + k;
#endif
  for (uint bit = 0u; bit < bits; bit += 4u) {
    UNROLL for (uint k = 0u; k < ITEMS; ++k) digit[k] = (key[k] >> (shift + bit)) & 15u;
    split(digit, rank);
    const bool last = bit + 4u >= bits;
    move(place, rank, last);
    move(key, rank, last);
  }
  // The exchange still holds the keys.
  UNROLL for (uint k = 0u; k < ITEMS; ++k) {
    const uint at = k * 256u + thread;
    digit[k] = (key[k] >> shift) & 255u;
    if (at == 0u || ((exchange[padded(at - 1u)] >> shift) & 255u) != digit[k]) starts[digit[k]] = at;
  }
  barrier();
  UNROLL for (uint k = 0u; k < ITEMS; ++k) {
    const uint at = k * 256u + thread;
    if (at >= count) break;
    const uint64_t to = (row * n + bases[digit[k]] + at - starts[digit[k]]) * 4ul;
    Int32(tensor(3) + to).at[0] = int(place[k]);
#ifdef KEYS_OUT
    Int32(tensor(5) + to).at[0] = int(key[k]);
#endif
  }
}
