#version 460
// Pointwise, four elements a thread.
#define SG_FUSED_FMA
#define SG_SHUFFLES
#include "common.glsl"
#include "alu.glsl"

#define Index uint
#define arguments push.block
#define argument(i) Words(arguments).at[i]
#define count Index(argument(0))
#define view0 argument(1)  // float32
#define view1 argument(2)  // float32
#define number0 number_float32(argument(3))
#define view2 argument(4)  // float32
#define view3 argument(5)  // bool

layout(local_size_x = 256) in;

void four(Index i) {
  const Index first = 4 * i;
  const vec4 in0 = Float32x4(view0).at[first / 4];
  const vec4 in1 = Float32x4(view1).at[first / 4];
  const float v2 = number0;
  vec4 out10;
  bvec4 out11;
  [[unroll]] for (uint l = 0; l < 4; ++l) {
    const float v0 = in0[l];
    const float v1 = in1[l];
    precise float v3 = v0 * v1;
    precise float v4 = v3 + v2;
    const bool v6 = v4 < (-1.0);
    precise float v7 = alu_maximum(v4, v1);
    precise float v8 = -v4;
    precise float v9 = v6 ? v8 : v7;
    out10[l] = v9;
    out11[l] = v6;
  }
  Float32x4(view2).at[first / 4] = out10;
  Boolx4(view3).at[first / 4] = pack_bools(out11);
}

void one(Index i) {
  const float v0 = Float32(view0).at[i];
  const float v1 = Float32(view1).at[i];
  const float v2 = number0;
  precise float v3 = v0 * v1;
  precise float v4 = v3 + v2;
  const bool v6 = v4 < (-1.0);
  precise float v7 = alu_maximum(v4, v1);
  precise float v8 = -v4;
  precise float v9 = v6 ? v8 : v7;
  Float32(view2).at[i] = v9;
  Bool(view3).at[i] = uint8_t(v6 ? 1 : 0);
}

void main() {
  const uint group = gl_WorkGroupID.x, groups = gl_NumWorkGroups.x;
  const Index thread = Index(group) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  const Index step = Index(groups) * gl_WorkGroupSize.x;
  for (Index i = thread; i < count / 4; i += step) four(i);
  if (thread < count % 4) one(count / 4 * 4 + thread);
}
