// Rows that were sorted by number are folded where numbers are equal. A thread folds 16 neighbours in one column. The
// result of a run that begins there is that row's; what is left of a run from before goes to the next round, one a
// thread. FIRST: values are found through the order; later rounds fold into what is there already. LAST: one thread a
// column. The fold is SUM, PRODUCT, MAXIMUM or MINIMUM.
layout(local_size_x = SG_THREADS) in;

Offset group() { return Offset(gl_WorkGroupID.y) * gl_NumWorkGroups.x + gl_WorkGroupID.x; }

// Twin: cpp/ops/fold_rows.cpp.
#if defined(MAXIMUM)
#define NOTHING LOWEST
ELEMENT combine(ELEMENT a, ELEMENT b) { return a > b || a != a ? a : b; }
#elif defined(MINIMUM)
#define NOTHING HIGHEST
ELEMENT combine(ELEMENT a, ELEMENT b) { return a < b || a != a ? a : b; }
#elif defined(PRODUCT)
#define NOTHING ELEMENT(1)
ELEMENT combine(ELEMENT a, ELEMENT b) { return a * b; }
#else
#define NOTHING ELEMENT(0)
ELEMENT combine(ELEMENT a, ELEMENT b) { return a + b; }
#endif

#ifdef CLEAR
void main() {
  [[unroll]] for (uint k = 0u; k < 16u; ++k) {
    const Offset at = (group() * Offset(16) + k) * Offset(256) + gl_LocalInvocationIndex;
    if (at < Offset(word(0))) MEMORY(address_add(tensor(0), at * BYTES)).at[0] = NOTHING;
  }
}
#else
const int kNone = -1;

int row_of(uint i) { return Int32(address_add(tensor(0), Offset(4) * i)).at[0]; }

void main() {
  const uint left = uint(word(0)), pieces = uint(word(2));
  const Offset width = Offset(word(1)), id = group() * Offset(256) + gl_LocalInvocationIndex;
  uint piece = uint(id);
  Offset column = Offset(0);
  if (width != Offset(1)) {
    piece = uint(id / width);
    column = id - piece * width;
  }
  if (id >= pieces * width) return;
  const uint first = piece * 16u, end = min(first + 16u, left);
  ELEMENT value[16];
  int row[16];
  [[unroll]] for (uint k = 0u; k < 16u; ++k) {
    const uint i = min(first + k, left - 1u);
    row[k] = row_of(i);
#ifdef FIRST
    value[k] = MEMORY(address_add(
        tensor(1), (uint(Int32(address_add(tensor(3), Offset(4) * i)).at[0]) * width + column) * BYTES)).at[0];
#else
    value[k] = MEMORY(address_add(tensor(1), (i * width + column) * BYTES)).at[0];
#endif
  }
  bool from_before = first > 0u && row_of(first - 1u) == row[0];
#ifndef LAST
  if (column == Offset(0)) Int32(address_add(tensor(4), Offset(4) * piece)).at[0] = from_before ? row[0] : kNone;
#endif
  ELEMENT result = NOTHING;
  [[unroll]] for (uint k = 0u; k < 16u; ++k) {
    if (first + k >= end) break;
    result = combine(result, value[k]);
    if (first + k + 1u < end && row[min(k + 1u, 15u)] == row[k]) continue;
    if (from_before) {
#ifndef LAST
      MEMORY(address_add(tensor(5), (piece * width + column) * BYTES)).at[0] = result;
#endif
    } else {
#ifdef FIRST
      MEMORY(address_add(tensor(2), (uint(row[k]) * width + column) * BYTES)).at[0] = result;
#else
      if (row[k] != kNone) {
        const Address to = address_add(tensor(2), (uint(row[k]) * width + column) * BYTES);
        MEMORY(to).at[0] = combine(MEMORY(to).at[0], result);
      }
#endif
    }
    from_before = false;
    result = NOTHING;
  }
}
#endif
