#version 460
// transposed_float32: pointwise, one element a thread.
#define SG_FUSED_FMA
#include "common.glsl"
#include "alu.glsl"

#define Index uint
#define arguments push.block
#define argument(i) Words(arguments).at[i]
#define count Index(argument(0))
#define size1 Index(argument(1))
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

void one(Index i) {
  const Index c1 = i % size1, rest1 = i / size1;
  const float v0 = Float32(view0).at[rest1 + c1 * view0_stride1];
  const float v1 = Float32(view1).at[rest1 * view1_stride0 + c1];
  const float v2 = number0;
  precise float v3 = v0 * v1;
  precise float v4 = v3 + v2;
  const bool v6 = v4 < (-1.0);
  precise float v7 = alu_maximum(v4, v1);
  precise float v8 = -v4;
  precise float v9 = v6 ? v8 : v7;
  Float32(view2).at[rest1 * view2_stride0 + c1] = v9;
  Bool(view3).at[rest1 * view3_stride0 + c1] = uint8_t(v6 ? 1 : 0);
}

void main() {
  const uint group = gl_WorkGroupID.x, groups = gl_NumWorkGroups.x;
  const Index thread = Index(group) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  const Index step = Index(groups) * gl_WorkGroupSize.x;
  for (Index i = thread; i < count; i += step) one(i);
}
