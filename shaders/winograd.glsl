// Minimal filtering, F(2 x 2, 3 x 3): the transforms (docs/decisions/046-fewer-multiplications.md). Included by the three
// kernels of cpp/ops/winograd.cpp.
//
// A block is 2 x 2 results and the 4 x 4 elements that they read. Blocks and kernels are polynomials in two variables,
// known by their values at 16 points; the values of a product are products of values. So sums over channels, or over
// blocks for the gradient by the weights, are taken of 16 products where a convolution has 36.
layout(local_size_x = SG_THREADS) in;

const uint kPoints = 16, kTile = 32, kStep = 8;  // results of a workgroup along both sides, factors of a step

// Along one dimension.
void values_of_block(const float d[4], out float v[4]) {
  v[0] = d[0] - d[2];
  v[1] = d[1] + d[2];
  v[2] = d[2] - d[1];
  v[3] = d[1] - d[3];
}
void values_of_result(const float y[2], out float v[4]) {
  v[0] = y[0];
  v[1] = y[0] + y[1];
  v[2] = y[0] - y[1];
  v[3] = -y[1];
}
void result_of_values(const float v[4], out float y[2]) {
  y[0] = v[0] + v[1] + v[2];
  y[1] = v[1] - v[2] - v[3];
}
void kernel_of_values(const float v[4], out float w[3]) {
  const float sum = 0.5 * (v[1] + v[2]);
  w[0] = v[0] + sum;
  w[1] = 0.5 * (v[1] - v[2]);
  w[2] = sum + v[3];
}
void values_of_kernel(const float w[3], out float v[4]) {
  const float sum = 0.5 * (w[0] + w[2]), half_of = 0.5 * w[1];
  v[0] = w[0];
  v[1] = sum + half_of;
  v[2] = sum - half_of;
  v[3] = w[2];
}

// Both dimensions: rows become columns twice.
#define BOTH(name, along, from, to)                                      \
  void name(const float x[from][from], out float y[to][to]) {            \
    float turned[to][from];                                              \
    [[unroll]] for (uint j = 0; j < from; ++j) {                         \
      float a[from], b[to];                                              \
      [[unroll]] for (uint i = 0; i < from; ++i) a[i] = x[i][j];         \
      along(a, b);                                                       \
      [[unroll]] for (uint i = 0; i < to; ++i) turned[i][j] = b[i];      \
    }                                                                    \
    [[unroll]] for (uint i = 0; i < to; ++i) along(turned[i], y[i]);     \
  }
BOTH(transform_block, values_of_block, 4, 4)
BOTH(transform_result, values_of_result, 2, 4)
BOTH(transform_kernel, values_of_kernel, 3, 4)
BOTH(find_result, result_of_values, 4, 2)
BOTH(find_kernel, kernel_of_values, 4, 3)

uint workgroup() { return gl_WorkGroupID.y * gl_NumWorkGroups.x + gl_WorkGroupID.x; }
Float32 floats(uint t, Offset element) { return Float32(address_add(tensor(t), 4 * element)); }

