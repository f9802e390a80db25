// float32 products whose operands were scaled, so that they fit into halves: each row of a and each column of b by a
// power of two of its own, which product_cm1.glsl and product_cm2.glsl undo. Included behind argument macros for the
// operands as they are (source_a, source_b and their strides) and for the exponents of the powers.
#ifdef SCALED

// Where an exponent is not finite, there is an infinity or a NaN among the elements, which no scale makes a half of.
float strict_sum(uint batch, uint m, uint n) {
  const Address a = address_add(source_a, Offset(4) * (batch * source_a_batch + m * source_a_m));
  const Address b = address_add(source_b, Offset(4) * (batch * source_b_batch + n * source_b_n));
  float sum = 0;
  for (uint k = 0; k < uint(size_k); ++k)
    sum = fma(Float32(address_add(a, Offset(4) * k * source_a_k)).at[0],
              Float32(address_add(b, Offset(4) * k * source_b_k)).at[0], sum);
  return sum;
}

// In two powers of the same sign, so that only results beyond float32 leave its range.
float unscaled(uint batch, uint m, uint n, float sum) {
  const float power = Float32(address_add(exponents_a, Offset(4) * (batch * exponents_a_batch + m))).at[0] +
                      Float32(address_add(exponents_b, Offset(4) * (batch * exponents_b_batch + n))).at[0];
  if (!(abs(power) < 1000)) return strict_sum(batch, m, n);
  const int exponent = int(power), one = exponent >> 1;
  precise float part = sum * uintBitsToFloat(uint(one + 127) << 23);
  precise float all = part * uintBitsToFloat(uint(exponent - one + 127) << 23);
  return all;
}
#else
#define unscaled(batch, m, n, sum) (sum)
#define PLANES 1
#endif
