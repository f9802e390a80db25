#version 460
#extension GL_GOOGLE_include_directive : require
// The float32 matrix product with a plain store. Products with an epilogue use the same product.glsl.
#include "common.glsl"

#define ELEMENT float
#define ELEMENT4 vec4
#define MEMORY Float32
#define MEMORY4 Float32x4
#define BYTES Offset(4)
#define LOAD(x) (x)
#define LOAD4(x) (x)
#define MULTIPLY_ADD(a, b, c) fma(a, b, c)

#define argument(i) Words(push.block).at[i]
#define number(i) offset_of(argument(i))
#define tensor_a argument(0)
#define tensor_b argument(1)
#define batches number(2)
#define size_m number(3)
#define size_n number(4)
#define size_k number(5)
#define a_batch number(6)
#define a_m number(7)
#define a_k number(8)
#define b_batch number(9)
#define b_k number(10)
#define b_n number(11)
#define tensor_out argument(12)
#define out_batch number(13)
#define out_m number(14)
#define out_n number(15)

void epilogue(uint batch, uint m, uint n, vec4 sum) {
  const Address to = address_add(tensor_out, BYTES * (batch * out_batch + m * out_m + n * out_n));
  if (out_n == 1 && is_aligned(to, 16) && n + 4 <= uint(size_n)) {
    Float32x4(to).at[0] = sum;
  } else {
    [[unroll]] for (uint l = 0; l < 4; ++l)
      if (n + l < uint(size_n)) Float32(address_add(to, BYTES * l * out_n)).at[0] = sum[l];
  }
}

#include "product.glsl"
