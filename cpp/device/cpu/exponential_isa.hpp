// exp and sigmoid of float32 by AVX-512, which scales by a power of two and rounds once in one instruction. The rest is
// that of the formulas (math/alu_float.inl), and so are the bits. Included by blocks_isa.cpp after its loops.
#if defined(__AVX512F__)

using Floats = Vector<float>::Type;

inline Floats exponential(Floats x) {
  const auto above = (Floats)_mm512_max_ps(_mm512_set1_ps(-104.0f), (__m512)x);  // x where it is NaN
  const auto c = (Floats)_mm512_min_ps(_mm512_set1_ps(89.0f), (__m512)above);
  constexpr float magic = 1.5f * formulas::kOneInt<float>;
  const Floats n = (c * 1.4426950408889634f + magic) - magic;
  const Floats r = (c - n * 0x1.62e4p-1f) - n * 0x1.7f7d1cp-20f;
  const Floats tail = 0.5f + r * (1.66665763e-1f + r * (4.16665561e-2f + r * (8.36319476e-3f + r * 1.39262038e-3f)));
  return (Floats)_mm512_scalef_ps((__m512)(1.0f + (r + r * r * tail)), (__m512)n);
}

inline Floats logistic(Floats x) {
  const Floats e = exponential((Floats)_mm512_or_ps((__m512)x, _mm512_set1_ps(-0.0f)));
  const __mmask16 negative = _mm512_movepi32_mask((__m512i)x);
  return (Floats)_mm512_mask_mov_ps(_mm512_set1_ps(1.0f), negative, (__m512)e) / (1.0f + e);
}

template <Floats (*function)(Floats)>
void each_vector(void* d, const void* a, int64_t n) {
  float* to = static_cast<float*>(d);
  const float* x = static_cast<const float*>(a);
  constexpr int64_t kLanes = Vector<float>::kLanes;
  using Loose = Vector<float>::Loose;
  for (; n >= kLanes; n -= kLanes, x += kLanes, to += kLanes)
    *reinterpret_cast<Loose*>(to) = function(*reinterpret_cast<const Loose*>(x));
  if (n > 0) store_first(to, function(load_first(x, n)), n);
}

template <>
void unary<F_exp, float, float>(void* d, const void* a, const void*, const void*, int64_t n) {
  each_vector<exponential>(d, a, n);
}
template <>
void unary<F_sigmoid, float, float>(void* d, const void* a, const void*, const void*, int64_t n) {
  each_vector<logistic>(d, a, n);
}

#endif
