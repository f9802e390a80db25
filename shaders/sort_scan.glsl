// Long rows, second step of a pass: each count becomes the sum of those of the tiles before, and the sums over all
// tiles are kept as [row, digit]. A workgroup has a digit of a row, or, with FEW tiles, a row.
#include "sort.glsl"

void main() {
  const uint tiles = uint(word(0));
  const Offset rows = Offset(word(1));
#ifdef FEW
  const Offset line = group() * Offset(256) + thread;
  if (line >= rows * Offset(256)) return;
  const Address counts = address_add(tensor(0), line * tiles * Offset(4));
  int sum = 0;
  for (uint i = 0u; i < tiles; ++i) {
    const int count = Int32(address_add(counts, Offset(4) * i)).at[0];
    Int32(address_add(counts, Offset(4) * i)).at[0] = sum;
    sum += count;
  }
  Int32(address_add(tensor(1), line * Offset(4))).at[0] = sum;
#else
  const Offset line = group();
  if (line >= rows * Offset(256)) return;
  const Address counts = address_add(tensor(0), line * tiles * Offset(4));
  uint sum = 0u;
  for (uint i = 0u; i < tiles; i += 256u) {
    const uint at = i + thread;
    uint total;
    const uint before = exclusive(at < tiles ? uint(Int32(address_add(counts, Offset(4) * at)).at[0]) : 0u, total);
    if (at < tiles) Int32(address_add(counts, Offset(4) * at)).at[0] = int(sum + before);
    sum += total;
  }
  if (thread == 0u) Int32(address_add(tensor(1), line * Offset(4))).at[0] = int(sum);
#endif
}
