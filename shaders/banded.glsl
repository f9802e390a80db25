// A banded matrix times the vectors along the middle one of three dimensions: a thread computes an element. What has
// weight 0 is not read. Words: cpp/ops/banded.cpp.
layout(local_size_x = SG_THREADS) in;

void main() {
  const Offset id = (Offset(gl_WorkGroupID.y) * gl_NumWorkGroups.x + gl_WorkGroupID.x) * SG_THREADS +
                      gl_LocalInvocationIndex;
  if (id >= Offset(word(0))) return;
  const PLACE inner = PLACE(word(1)), rows = PLACE(word(2)), at = PLACE(id);
  const PLACE line = at / inner, vector = line / rows, row = line - vector * rows;
  const int taps = int(word(4));
  const int first = int(Int32(address_add(tensor(1), Offset(row) * Offset(4))).at[0]);
  const Offset step = Offset(inner) * BYTES;
  Address from = address_add(address_add(tensor(0), (Offset(vector) * Offset(word(3)) + Offset(first)) * step),
                             Offset(at - line * inner) * BYTES);
  Address weight = address_add(tensor(2), Offset(row) * Offset(taps) * BYTES);
  ELEMENT sum = ELEMENT(0);
  for (int k = 0; k < taps; ++k, address_move(from, step), address_move(weight, BYTES)) {
    const ELEMENT w = MEMORY(weight).at[0];
    if (w != ELEMENT(0)) sum += w * MEMORY(from).at[0];
  }
  MEMORY(address_add(tensor(3), id * BYTES)).at[0] = sum;
}
