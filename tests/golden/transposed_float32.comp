#version 460
// Pointwise, squares transposed in shared memory.
#define SG_FUSED_FMA
#define SG_SHUFFLES
#include "common.glsl"
#include "alu.glsl"

#define Index uint
#define arguments push.block
#define argument(i) Words(arguments).at[i]
#define size1 Index(argument(0))
#define size0 Index(argument(1))
#define view0_stride1 Index(argument(2))
#define view0 argument(3)  // float32
#define view1_stride0 Index(argument(4))
#define view1 argument(5)  // float32
#define number0 number_float32(argument(6))
#define view2_stride0 Index(argument(7))
#define view2 argument(8)  // float32
#define view3_stride0 Index(argument(9))
#define view3 argument(10)  // bool

layout(local_size_x = 256) in;

shared float square0[32][33];

void main() {
  const uint x = gl_LocalInvocationID.x % 32, first = gl_LocalInvocationID.x / 32;
  const uint wide = (size1 + 31) / 32, high = (size0 + 31) / 32;
  for (uint work = gl_WorkGroupID.x; work < wide * high; work += gl_NumWorkGroups.x) {
    const uint left = work % wide * 32, rows = work / wide, top = rows % high * 32;
    barrier();  // the squares of the turn before are read
    [[unroll]] for (uint y = first; y < 32; y += 8) {
      const uint column = left + y, row = top + x;
      if (column < size1 && row < size0) {
        square0[y][x] = Float32(view0).at[row + column * view0_stride1];
      }
    }
    barrier();
    [[unroll]] for (uint y = first; y < 32; y += 8) {
      const uint column = left + x, row = top + y;
      if (column >= size1 || row >= size0) continue;
      const float v1 = Float32(view1).at[row * view1_stride0 + column];
      const float v0 = square0[x][y];
      const float v2 = number0;
      precise float v3 = v0 * v1;
      precise float v4 = v3 + v2;
      const bool v6 = v4 < (-1.0);
      precise float v7 = alu_maximum(v4, v1);
      precise float v8 = -v4;
      precise float v9 = v6 ? v8 : v7;
      Float32(view2).at[row * view2_stride0 + column] = v9;
      Bool(view3).at[row * view3_stride0 + column] = uint8_t(v6 ? 1 : 0);
    }
  }
}
