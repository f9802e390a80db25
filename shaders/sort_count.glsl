// Long rows, first step of a pass: how often each digit occurs in a tile. Counts lie as [row, digit, tile].
// FRESH: keys are made first, of the elements in their order so far (PLACED: there is one), and kept for the pass.
#include "sort.glsl"

shared uint bins[256 * 8];  // eight of each, so that equal digits of neighbours do not wait for each other

void main() {
  const uint n = uint(word(0)), tiles = uint(word(1)), shift = uint(word(2));
  const uint64_t row = group() / tiles;
  if (row >= uint64_t(word(3))) return;
  const uint tile = uint(group() - row * tiles);
  const uint64_t keys = tensor(0) + row * n * 4ul, counts = tensor(1) + row * 1024ul * tiles;
  UNROLL for (uint i = 0u; i < 8u; ++i) bins[i * 256u + thread] = 0u;
  barrier();
  for (uint k = 0u; k < 16u; ++k) {
    const uint at = tile * 4096u + k * 256u + thread;
    if (at >= n) break;
#ifdef FRESH
    uint from = at;
#ifdef PLACED
    from = uint(Int32(tensor(3) + (row * n + at) * 4ul).at[0]);
#endif
    const uint key = ordered(tensor(2) + row * n * kKeyBytes, from, uint(word(4)), uint(word(5)))[uint(word(6))];
    Int32(keys + 4ul * at).at[0] = int(key);
#else
    const uint key = uint(Int32(keys + 4ul * at).at[0]);
#endif
    atomicAdd(bins[((key >> shift) & 255u) * 8u + (thread & 7u)], 1u);
  }
  barrier();
  uint sum = 0u;
  UNROLL for (uint i = 0u; i < 8u; ++i) sum += bins[thread * 8u + ((thread / 4u + i) & 7u)];
  Int32(counts + (uint64_t(thread) * tiles + tile) * 4ul).at[0] = int(sum);
}
