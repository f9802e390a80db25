// Where each value belongs in its row of sorted keys: before equal ones, or, RIGHT, behind them.
#include "sort.glsl"

bool below(uvec2 a, uvec2 b) { return a.y < b.y || (a.y == b.y && a.x < b.x); }

void main() {
  const uint n = uint(word(0)), flip = uint(word(3));
  const Offset each = Offset(word(1)), count = Offset(word(2)), at = group() * Offset(256) + thread;
  if (at >= count) return;
  const Address keys = address_add(tensor(0), (word(4) != 0 ? at / each * n * kKeyBytes : Offset(0)));
  const uvec2 value = ordered(address_add(tensor(1), at * kKeyBytes), 0u, flip, 0u);
  uint low = 0u, high = n;
  while (low < high) {
    const uint middle = low + (high - low) / 2u;
    const uvec2 key = ordered(keys, middle, flip, 0u);
#ifdef RIGHT
    const bool ahead = !below(value, key);
#else
    const bool ahead = below(key, value);
#endif
    if (ahead)
      low = middle + 1u;
    else
      high = middle;
  }
  Int32(address_add(tensor(2), at * Offset(4))).at[0] = int(low);
}
