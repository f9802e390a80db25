#version 460
// Pointwise, four elements a thread, several tensors.
#define SG_FUSED_FMA
#define SG_SHUFFLES
#define SG_GUARDS
#include "common.glsl"

#define Index uint
Address arguments;  // of this workgroup's instance
#define argument(i) Words(arguments).at[i]
#define count Index(argument(0))
#define view2 argument(1)  // float32
#define view1 argument(2)  // float32
#define number0 number_float32(argument(3))
#define view0 argument(4)  // float32
#define guard1 argument(5)
#define status argument(6)

layout(local_size_x = 256) in;

void four(Index i) {
  const Index first = 4 * i;
  const vec4 in0 = Float32x4(view2).at[first / 4];
  const vec4 in2 = Float32x4(view1).at[first / 4];
  vec4 out5;
  const float v6 = number0;
  const vec4 in8 = Float32x4(view0).at[first / 4];
  vec4 out10;
  [[unroll]] for (uint l = 0; l < 4; ++l) {
    const float v0 = in0[l];
    const float v2 = in2[l];
    precise float v3 = v2 * 0.9;
    precise float v4 = v3 + v0;
    out5[l] = v4;
    precise float v7 = v6 * v4;
    const float v8 = in8[l];
    precise float v9 = v8 - v7;
    out10[l] = v9;
  }
  if (!is_kept(guard1)) Float32x4(view1).at[first / 4] = out5;
  if (!is_kept(guard1)) Float32x4(view0).at[first / 4] = out10;
}

void one(Index i) {
  const float v0 = Float32(view2).at[i];
  const float v2 = Float32(view1).at[i];
  const float v8 = Float32(view0).at[i];
  precise float v3 = v2 * 0.9;
  precise float v4 = v3 + v0;
  const float v6 = number0;
  precise float v7 = v6 * v4;
  precise float v9 = v8 - v7;
  if (!is_kept(guard1)) Float32(view1).at[i] = v4;
  if (!is_kept(guard1)) Float32(view0).at[i] = v9;
}

void main() {
  uint low = 0, high = uint(Words(push.block).at[0]);
  while (high - low > 1) {
    const uint middle = (low + high) / 2;
    if (uint(Words(push.block).at[1 + middle]) <= gl_WorkGroupID.x) low = middle; else high = middle;
  }
  const uint table = 2 + uint(Words(push.block).at[0]);
  arguments = address_add(push.block, Offset(8) * (table + low * 7u));
  const uint group = gl_WorkGroupID.x - uint(Words(push.block).at[1 + low]);
  const uint groups = uint(Words(push.block).at[2 + low]) - uint(Words(push.block).at[1 + low]);
  read_failures(status);
  const Index thread = Index(group) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
  const Index step = Index(groups) * gl_WorkGroupSize.x;
  for (Index i = thread; i < count / 4; i += step) four(i);
  if (thread < count % 4) one(count / 4 * 4 + thread);
}
