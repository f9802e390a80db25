#version 460
#extension GL_GOOGLE_include_directive : require
// The float32 matrix product with a plain store. Products with an epilogue use the same product.glsl.
#include "common.glsl"

#define ELEMENT float
#define ELEMENT4 vec4
#define MEMORY Float32
#define MEMORY4 Float32x4
#define BYTES 4ul
#define LOAD(x) (x)
#define LOAD4(x) (x)
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)

#define argument(i) Words(push.block).at[i]
#define tensor_a argument(0)
#define tensor_b argument(1)
#define batches argument(2)
#define size_m argument(3)
#define size_n argument(4)
#define size_k argument(5)
#define a_batch argument(6)
#define a_m argument(7)
#define a_k argument(8)
#define b_batch argument(9)
#define b_k argument(10)
#define b_n argument(11)
#define tensor_out argument(12)
#define out_batch argument(13)
#define out_m argument(14)
#define out_n argument(15)

void epilogue(uint batch, uint m, uint n, vec4 sum) {
  const uint64_t to = tensor_out + BYTES * (batch * out_batch + m * out_m + n * out_n);
  if (out_n == 1 && (to & 15) == 0 && n + 4 <= uint(size_n)) {
    Float32x4(to).at[0] = sum;
  } else {
    [[unroll]] for (uint l = 0; l < 4; ++l)
      if (n + l < uint(size_n)) Float32(to + BYTES * l * out_n).at[0] = sum[l];
  }
}

#include "product.glsl"
