// Short rows: a workgroup sorts whole rows in shared memory, by the key and then by the number of the row.
#include "sort_split.glsl"

void main() {
  const uint n = uint(word(0)), rows_each = uint(word(2)), begin = uint(word(3)), end = uint(word(4));
  const uint flip = uint(word(5)), invert = uint(word(6));
  const Offset rows = Offset(word(1)), row = group() * rows_each;
  if (row >= rows) return;
  const uint count = uint(min(rows - row, Offset(rows_each))) * n;
  const Address x = address_add(tensor(0), row * n * kKeyBytes), order = address_add(tensor(1), row * n * Offset(4));
  uint place[ITEMS], key[ITEMS], digit[ITEMS], rank[ITEMS];
  UNROLL for (uint k = 0u; k < ITEMS; ++k) place[k] = thread * ITEMS + k;
  for (uint bit = begin; bit < end;) {
    const uint w = bit / 32u, stop = min(end, w * 32u + 32u);
    UNROLL for (uint k = 0u; k < ITEMS; ++k)
      key[k] = place[k] < count ? ordered(x, place[k], flip, invert)[w] : 0xffffffffu;
    for (; bit < stop; bit += 4u) {
      UNROLL for (uint k = 0u; k < ITEMS; ++k) digit[k] = (key[k] >> (bit & 31u)) & 15u;
      split(digit, rank);
      move(place, rank, false);
      move(key, rank, false);
    }
    bit = stop;
  }
  if (rows_each > 1u)
    for (uint bit = 0u; ((kTile - 1u) / n) >> bit != 0u; bit += 4u) {
      UNROLL for (uint k = 0u; k < ITEMS; ++k) digit[k] = ((place[k] / n) >> bit) & 15u;
      split(digit, rank);
      move(place, rank, false);
    }
  UNROLL for (uint k = 0u; k < ITEMS; ++k) exchange[padded(thread * ITEMS + k)] = place[k];
  barrier();
  UNROLL for (uint k = 0u; k < ITEMS; ++k) {
    const uint at = k * 256u + thread;
    if (at >= count) break;
    const uint from = exchange[padded(at)];
    Int32(address_add(order, Offset(4) * at)).at[0] = int(from - at / n * n);
#ifdef WITH_KEYS
    Int32(address_add(tensor(2), Offset(4) * at)).at[0] = int(ordered(x, from, flip, invert).x);
#endif
  }
}
