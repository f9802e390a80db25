// Long rows, second step of a pass: each count becomes the sum of those of the tiles before, and the sums over all
// tiles are kept as [row, digit]. A workgroup has a digit of a row, or, with FEW tiles, a row.
#include "sort.glsl"

void main() {
  const uint tiles = uint(word(0));
  const uint64_t rows = uint64_t(word(1));
#ifdef FEW
  const uint64_t line = group() * 256ul + thread;
  if (line >= rows * 256ul) return;
  const uint64_t counts = tensor(0) + line * tiles * 4ul;
  int sum = 0;
  for (uint i = 0u; i < tiles; ++i) {
    const int count = Int32(counts + 4ul * i).at[0];
    Int32(counts + 4ul * i).at[0] = sum;
    sum += count;
  }
  Int32(tensor(1) + line * 4ul).at[0] = sum;
#else
  const uint64_t line = group();
  if (line >= rows * 256ul) return;
  const uint64_t counts = tensor(0) + line * tiles * 4ul;
  uint sum = 0u;
  for (uint i = 0u; i < tiles; i += 256u) {
    const uint at = i + thread;
    uint total;
    const uint before = exclusive(at < tiles ? uint(Int32(counts + 4ul * at).at[0]) : 0u, total);
    if (at < tiles) Int32(counts + 4ul * at).at[0] = int(sum + before);
    sum += total;
  }
  if (thread == 0u) Int32(tensor(1) + line * 4ul).at[0] = int(sum);
#endif
}
