// Long rows, last step of a pass: a tile is sorted by its digit in shared memory, then each run of equal digits goes to
// its place in the row. PLACED: elements come with the places they had at first; KEYS_OUT: keys are written as well.
#include "sort_split.glsl"

shared uint bases[256], starts[256];

void load(Address from, uint count, out uint value[ITEMS]) {
  UNROLL for (uint k = 0u; k < ITEMS; ++k) {
    const uint at = k * 256u + thread;
    exchange[padded(at)] = at < count ? uint(Int32(address_add(from, Offset(4) * at)).at[0]) : 0xffffffffu;
  }
  barrier();
  UNROLL for (uint k = 0u; k < ITEMS; ++k) value[k] = exchange[padded(thread * ITEMS + k)];
  barrier();
}

void main() {
  const uint n = uint(word(0)), tiles = uint(word(1)), shift = uint(word(2)), bits = uint(word(4));
  const Offset row = group() / tiles;
  if (row >= Offset(word(3))) return;
  const uint tile = uint(group() - row * tiles), count = min(n - tile * kTile, kTile);
  const Offset line = row * Offset(256) + thread, tile_at = (row * n + tile * kTile) * Offset(4);
  uint all;
  const uint base = exclusive(uint(Int32(address_add(tensor(2), line * Offset(4))).at[0]), all);
  bases[thread] = base + uint(Int32(address_add(tensor(1), (line * tiles + tile) * Offset(4))).at[0]);

  uint key[ITEMS], place[ITEMS], digit[ITEMS], rank[ITEMS];
  load(address_add(tensor(0), tile_at), count, key);
#ifdef PLACED
  load(address_add(tensor(4), tile_at), count, place);
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
    const Offset to = (row * n + bases[digit[k]] + at - starts[digit[k]]) * Offset(4);
    Int32(address_add(tensor(3), to)).at[0] = int(place[k]);
#ifdef KEYS_OUT
    Int32(address_add(tensor(5), to)).at[0] = int(key[k]);
#endif
  }
}
