#version 460
// Matrix product of float32.
#define SG_FUSED_FMA
#define SG_SHUFFLES
#include "common.glsl"
#include "alu.glsl"

#define Index uint
#define arguments push.block
#define argument(i) Words(arguments).at[i]
#define tensor_a argument(0)
#define tensor_b argument(1)
#define batches offset_of(argument(2))
#define size_m offset_of(argument(3))
#define size_n offset_of(argument(4))
#define size_k offset_of(argument(5))
#define a_batch offset_of(argument(6))
#define a_m offset_of(argument(7))
#define a_k offset_of(argument(8))
#define b_batch offset_of(argument(9))
#define b_k offset_of(argument(10))
#define b_n offset_of(argument(11))
#define view1 argument(12)  // float32
#define view2_stride1 Index(argument(13))
#define view2 argument(14)  // bool
#define view3_stride1 Index(argument(15))
#define view3 argument(16)  // float32

#define ELEMENT float
#define ELEMENT4 vec4
#define MEMORY Float32
#define MEMORY4 Float32x4
#define BYTES Offset(4)
#define LOAD(x) x
#define LOAD4(x) x
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)

void epilogue(uint batch, uint m, uint n, vec4 sum) {
  const vec4 in2 = Float32x4(view1).at[n / 4];
  bvec4 out6;
  vec4 out7;
  [[unroll]] for (uint l = 0; l < 4; ++l) {
    const float v0 = sum[l];
    const float v2 = in2[l];
    precise float v3 = v0 + v2;
    precise float v4 = alu_maximum(v3, 0.0);
    const bool v5 = 0.0 < v4;
    out6[l] = v5;
    out7[l] = v4;
  }
  Boolx4(view2).at[(m * view2_stride1 + n) / 4] = pack_bools(out6);
  Float32x4(view3).at[(m * view3_stride1 + n) / 4] = out7;
}

#include "product.glsl"
