// A banded matrix times the vectors along the middle one of three dimensions: a thread computes an element. What has
// weight 0 is not read. Words: cpp/ops/banded.cpp.
layout(local_size_x = SG_THREADS) in;

void main() {
  const uint64_t id = (uint64_t(gl_WorkGroupID.y) * gl_NumWorkGroups.x + gl_WorkGroupID.x) * SG_THREADS +
                      gl_LocalInvocationIndex;
  if (id >= uint64_t(word(0))) return;
  const PLACE inner = PLACE(word(1)), rows = PLACE(word(2)), at = PLACE(id);
  const PLACE line = at / inner, vector = line / rows, row = line - vector * rows;
  const int taps = int(word(4));
  const int first = int(Int32(tensor(1) + uint64_t(row) * 4ul).at[0]);
  const uint64_t step = uint64_t(inner) * BYTES;
  uint64_t from = tensor(0) + (uint64_t(vector) * uint64_t(word(3)) + uint64_t(first)) * step +
                  uint64_t(at - line * inner) * BYTES;
  uint64_t weight = tensor(2) + uint64_t(row) * uint64_t(taps) * BYTES;
  ELEMENT sum = ELEMENT(0);
  for (int k = 0; k < taps; ++k, from += step, weight += BYTES) {
    const ELEMENT w = MEMORY(weight).at[0];
    if (w != ELEMENT(0)) sum += w * MEMORY(from).at[0];
  }
  MEMORY(tensor(3) + id * BYTES).at[0] = sum;
}
