// The values of kernels at the points: [channels, points, outputs], zeros behind the last of both.
#include "winograd.glsl"

#define CHANNELS uint(word(1))
#define OUTPUTS uint(word(0))
#define ROW_OF_OUTPUTS uint(word(8))

void main() {
  const uint id = workgroup() * SG_THREADS + gl_LocalInvocationIndex;
  const uint m = id % ROW_OF_OUTPUTS, c = id / ROW_OF_OUTPUTS;
  if (c >= uint(word(9))) return;
  const bool inside = m < OUTPUTS && c < CHANNELS;
  const bool reversed = uint(word(10)) == 1;
  float w[3][3], values[4][4];
  [[unroll]] for (int i = 0; i < 3; ++i)
    [[unroll]] for (int j = 0; j < 3; ++j) {
      const SignedOffset y = reversed ? 2 - i : i, x = reversed ? 2 - j : j;
      const SignedOffset at = SignedOffset(m * SignedOffset(word(4)) + c * SignedOffset(word(5))) +
                              y * SignedOffset(word(6)) + x * SignedOffset(word(7));
      w[i][j] = inside ? floats(0, at).at[0] : 0.0;
    }
  transform_kernel(w, values);
  const Offset to = Offset(c) * kPoints * ROW_OF_OUTPUTS + m;
  [[unroll]] for (uint i = 0; i < 4; ++i)
    [[unroll]] for (uint j = 0; j < 4; ++j) floats(1, to + (4 * i + j) * ROW_OF_OUTPUTS).at[0] = values[i][j];
}

