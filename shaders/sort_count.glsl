// Long rows, first step of a pass: how often each digit occurs in a tile. Counts lie as [row, digit, tile].
// FRESH: keys are made first, of the elements in their order so far (PLACED: there is one), and kept for the pass.
#include "sort.glsl"

const uint kEach = ITEMS < 8 ? ITEMS : 8;  // that are read at a time
shared uint bins[256 * 8];  // eight of each, so that equal digits of neighbours do not wait for each other

void main() {
  const uint n = uint(word(0)), tiles = uint(word(1)), shift = uint(word(2));
  const Offset row = group() / tiles;
  if (row >= Offset(word(3))) return;
  const uint tile = uint(group() - row * tiles);
  const Address keys = address_add(tensor(0), row * n * Offset(4));
  const Address counts = address_add(tensor(1), row * Offset(1024) * tiles);
  UNROLL for (uint i = 0u; i < 8u; ++i) bins[i * 256u + thread] = 0u;
  barrier();
#ifdef FRESH
  const Address x = address_add(tensor(2), row * n * kKeyBytes);
  const uint flip = uint(word(4)), invert = uint(word(5)), w = uint(word(6));
#endif
  for (uint k = 0u; k < ITEMS; k += kEach) {
    uint key[kEach];
    UNROLL for (uint i = 0u; i < kEach; ++i) {
      const uint at = min(tile * 256u * ITEMS + (k + i) * 256u + thread, n - 1u);
#if !defined(FRESH)
      key[i] = uint(Int32(address_add(keys, Offset(4) * at)).at[0]);
#elif defined(PLACED)
      key[i] = ordered(x, uint(Int32(address_add(tensor(3), (row * n + at) * Offset(4))).at[0]), flip, invert)[w];
#else
      key[i] = ordered(x, at, flip, invert)[w];
#endif
    }
    UNROLL for (uint i = 0u; i < kEach; ++i) {
      const uint at = tile * 256u * ITEMS + (k + i) * 256u + thread;
      if (at >= n) break;
      atomicAdd(bins[((key[i] >> shift) & 255u) * 8u + (thread & 7u)], 1u);
#ifdef FRESH
      Int32(address_add(keys, Offset(4) * at)).at[0] = int(key[i]);
#endif
    }
  }
  barrier();
  uint sum = 0u;
  UNROLL for (uint i = 0u; i < 8u; ++i) sum += bins[thread * 8u + ((thread / 4u + i) & 7u)];
  Int32(address_add(counts, (Offset(thread) * tiles + tile) * Offset(4))).at[0] = int(sum);
}
