// What both kernels of convolutions with few channels a group share (docs/decisions/062-few-channels-a-group.md). The text
// before it defines kKernel, kDilation and kStride as pairs of rows and columns, kRows, kOutputs, and how elements are
// read and written: MEMORY, VALUE, BITS, BYTES. Words: cpp/ops/grouped.cpp.
layout(local_size_x = SG_THREADS) in;

uint workgroup() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }
Address elements(uint t, Offset first) { return address_add(tensor(t), BYTES * first); }
#define ELEMENT(address, i) VALUE(MEMORY(address).at[i])

// Whether a tap sees row `row` of a thread's rows, `step` apart, when it lies `tap` behind that of the first tap.
bool sees(int row, int tap, int step) { return row >= tap && (row - tap) % step == 0 && (row - tap) / step < kRows; }

// Where the rows and columns of an image lie that a thread reads. All of them are loaded, without a branch, so that they
// may be loaded ahead: rows outside as the nearest row, columns outside as what lies beside it in memory. Then those are
// zero. Only where there is nothing in memory the walk is not for a thread.
struct Walk {
  ivec2 first, size;
  Address image;
};
Address row_of(Walk w, int i) {
  return address_add(w.image, BYTES * SignedOffset(clamp(w.first.x + i, 0, w.size.x - 1) * w.size.y + w.first.y));
}
uint row_mask(Walk w, int i) { return uint(w.first.x + i) < uint(w.size.x) ? ~0u : 0; }
uint column_mask(Walk w, int j) { return uint(w.first.y + j) < uint(w.size.y) ? ~0u : 0; }
float seen(float value, uint row, uint column) { return uintBitsToFloat(floatBitsToUint(value) & row & column); }
// Whether `rows` and `columns` of it lie in memory of `all` elements, of which the first image
// begins at `begin`, and the last one at `last`.
bool is_in_memory(Walk w, SignedOffset begin, SignedOffset last, int rows, int columns, SignedOffset all) {
  const SignedOffset bottom = clamp(w.first.x + rows - 1, 0, w.size.x - 1) * w.size.y;
  return begin + clamp(w.first.x, 0, w.size.x - 1) * w.size.y + w.first.y >= 0 &&
         last + bottom + w.first.y + columns <= all;
}
