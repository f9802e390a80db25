// What both kernels of convolutions with few channels a group share (docs/decisions/062-few-channels-a-group.md). The text
// before it defines kKernel, kDilation and kStride as pairs of rows and columns, kRows, kOutputs, and how elements are
// read and written: MEMORY, VALUE, BITS, BYTES. Words: cpp/ops/grouped.cpp.
layout(local_size_x = SG_THREADS) in;

uint workgroup() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }
Address elements(uint t, Offset first) { return address_add(tensor(t), BYTES * first); }
#define ELEMENT(address, i) VALUE(MEMORY(address).at[i])

// Whether a tap sees row `row` of a thread's rows, `step` apart, when it lies `tap` behind that of the first tap.
bool sees(int row, int tap, int step) { return row >= tap && (row - tap) % step == 0 && (row - tap) / step < kRows; }
