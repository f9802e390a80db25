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
#define k_size1 offset_of(argument(12))
#define k_size2 offset_of(argument(13))
#define b_k0 offset_of(argument(14))
#define b_k1 offset_of(argument(15))
#define b_k2 offset_of(argument(16))
#define n_size1 offset_of(argument(17))
#define n_size2 offset_of(argument(18))
#define b_n0 offset_of(argument(19))
#define b_n1 offset_of(argument(20))
#define b_n2 offset_of(argument(21))
#define folded offset_of(argument(22))
#define b_folded offset_of(argument(23))
#define view1_stride0 Index(argument(24))
#define view1_stride1 Index(argument(25))
#define view1 argument(26)  // float32

#define ELEMENT float
#define ELEMENT4 vec4
#define MEMORY Float32
#define MEMORY4 Float32x4
#define BYTES Offset(4)
#define LOAD(x) x
#define LOAD4(x) x
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)
#define B_WALKS
#define OFFSET int
#define FOLDED

void epilogue(uint batch, uint m, uint n, vec4 sum) {
  vec4 out3;
  [[unroll]] for (uint l = 0; l < 4; ++l) {
    const float v0 = sum[l];
    precise float v2 = alu_maximum(v0, 0.0);
    out3[l] = v2;
  }
  Float32x4(view1).at[(batch * view1_stride0 + m * view1_stride1 + n) / 4] = out3;
}

#include "product.glsl"
