// Rows that were sorted by number are summed where numbers are equal. A thread adds 16 neighbours in one column. The sum
// of a run that begins there is that row's; what is left of a run from before goes to the next round, one a thread.
// FIRST: values are found through the order; later rounds add to what is there already. LAST: one thread a column.
layout(local_size_x = 256) in;

uint64_t group() { return uint64_t(gl_WorkGroupID.y) * gl_NumWorkGroups.x + gl_WorkGroupID.x; }

#ifdef CLEAR
void main() {
  [[unroll]] for (uint k = 0u; k < 16u; ++k) {
    const uint64_t at = (group() * 16ul + k) * 256ul + gl_LocalInvocationIndex;
    if (at < uint64_t(word(0))) MEMORY(tensor(0) + at * BYTES).at[0] = ELEMENT(0);
  }
}
#else
const int kNone = -1;

int row_of(uint i) { return Int32(tensor(0) + 4ul * i).at[0]; }

void main() {
  const uint left = uint(word(0)), pieces = uint(word(2));
  const uint64_t width = uint64_t(word(1)), id = group() * 256ul + gl_LocalInvocationIndex;
  uint piece = uint(id);
  uint64_t column = 0ul;
  if (width != 1ul) {
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
    value[k] = MEMORY(tensor(1) + (uint(Int32(tensor(3) + 4ul * i).at[0]) * width + column) * BYTES).at[0];
#else
    value[k] = MEMORY(tensor(1) + (i * width + column) * BYTES).at[0];
#endif
  }
  bool from_before = first > 0u && row_of(first - 1u) == row[0];
#ifndef LAST
  if (column == 0ul) Int32(tensor(4) + 4ul * piece).at[0] = from_before ? row[0] : kNone;
#endif
  ELEMENT sum = ELEMENT(0);
  [[unroll]] for (uint k = 0u; k < 16u; ++k) {
    if (first + k >= end) break;
    sum += value[k];
    if (first + k + 1u < end && row[min(k + 1u, 15u)] == row[k]) continue;
    if (from_before) {
#ifndef LAST
      MEMORY(tensor(5) + (piece * width + column) * BYTES).at[0] = sum;
#endif
    } else {
#ifdef FIRST
      MEMORY(tensor(2) + (uint(row[k]) * width + column) * BYTES).at[0] = sum;
#else
      if (row[k] != kNone) {
        const uint64_t to = tensor(2) + (uint(row[k]) * width + column) * BYTES;
        MEMORY(to).at[0] = MEMORY(to).at[0] + sum;
      }
#endif
    }
    from_before = false;
    sum = ELEMENT(0);
  }
}
#endif
