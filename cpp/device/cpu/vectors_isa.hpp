// Vectors of an instruction set, and loads and stores of parts of them. Included by gemm_isa.hpp alone.

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64, kRows = 8;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32, kRows = 6;
#else
inline constexpr int kVectorBytes = 16, kRows = 4;
#endif

template <class T>
struct Vector {
  typedef T Type __attribute__((vector_size(kVectorBytes)));
  typedef T Loose __attribute__((vector_size(kVectorBytes), aligned(sizeof(T)), may_alias));
  static constexpr int kLanes = kVectorBytes / sizeof(T);
};

#define SG_ALWAYS __attribute__((always_inline)) static inline

#if defined(__AVX512F__)
SG_ALWAYS Vector<float>::Type multiply_add(Vector<float>::Type a, Vector<float>::Type b, Vector<float>::Type c) {
  return (Vector<float>::Type)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
}
SG_ALWAYS Vector<double>::Type multiply_add(Vector<double>::Type a, Vector<double>::Type b, Vector<double>::Type c) {
  return (Vector<double>::Type)_mm512_fmadd_pd((__m512d)a, (__m512d)b, (__m512d)c);
}
#elif defined(__FMA__)
SG_ALWAYS Vector<float>::Type multiply_add(Vector<float>::Type a, Vector<float>::Type b, Vector<float>::Type c) {
  return (Vector<float>::Type)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
}
SG_ALWAYS Vector<double>::Type multiply_add(Vector<double>::Type a, Vector<double>::Type b, Vector<double>::Type c) {
  return (Vector<double>::Type)_mm256_fmadd_pd((__m256d)a, (__m256d)b, (__m256d)c);
}
#elif defined(__aarch64__)
SG_ALWAYS Vector<float>::Type multiply_add(Vector<float>::Type a, Vector<float>::Type b, Vector<float>::Type c) {
  return (Vector<float>::Type)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
}
SG_ALWAYS Vector<double>::Type multiply_add(Vector<double>::Type a, Vector<double>::Type b, Vector<double>::Type c) {
  return (Vector<double>::Type)vfmaq_f64((float64x2_t)c, (float64x2_t)a, (float64x2_t)b);
}
#else
template <class V>
SG_ALWAYS V multiply_add(V a, V b, V c) {
  return a * b + c;
}
#endif

// The larger and the smaller of two numbers; b if one of them is NaN.
#if defined(__AVX512F__)
SG_ALWAYS Vector<float>::Type larger(Vector<float>::Type a, Vector<float>::Type b) {
  return (Vector<float>::Type)_mm512_maskz_max_ps(0xffff, (__m512)a, (__m512)b);
}
SG_ALWAYS Vector<double>::Type larger(Vector<double>::Type a, Vector<double>::Type b) {
  return (Vector<double>::Type)_mm512_maskz_max_pd(0xff, (__m512d)a, (__m512d)b);
}
SG_ALWAYS Vector<float>::Type smaller(Vector<float>::Type a, Vector<float>::Type b) {
  return (Vector<float>::Type)_mm512_maskz_min_ps(0xffff, (__m512)a, (__m512)b);
}
SG_ALWAYS Vector<double>::Type smaller(Vector<double>::Type a, Vector<double>::Type b) {
  return (Vector<double>::Type)_mm512_maskz_min_pd(0xff, (__m512d)a, (__m512d)b);
}
#else
template <class V>
SG_ALWAYS V larger(V a, V b) {
  return a > b ? a : b;
}
template <class V>
SG_ALWAYS V smaller(V a, V b) {
  return a < b ? a : b;
}
#endif

// Loads n elements, the rest zeros; and stores n. Memory behind them is not touched.
#if defined(__AVX512F__)
SG_ALWAYS __mmask16 first_lanes(int64_t n) { return static_cast<__mmask16>((1u << n) - 1); }
SG_ALWAYS Vector<float>::Type load_first(const float* p, int64_t n) {
  return (Vector<float>::Type)_mm512_maskz_loadu_ps(first_lanes(n), p);
}
SG_ALWAYS Vector<double>::Type load_first(const double* p, int64_t n) {
  return (Vector<double>::Type)_mm512_maskz_loadu_pd(static_cast<__mmask8>(first_lanes(n)), p);
}
SG_ALWAYS void store_first(float* p, Vector<float>::Type x, int64_t n) {
  _mm512_mask_storeu_ps(p, first_lanes(n), (__m512)x);
}
SG_ALWAYS void store_first(double* p, Vector<double>::Type x, int64_t n) {
  _mm512_mask_storeu_pd(p, static_cast<__mmask8>(first_lanes(n)), (__m512d)x);
}
#elif defined(__AVX2__)
SG_ALWAYS __m256i first_floats(int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
SG_ALWAYS __m256i first_doubles(int64_t n) {
  return _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
}
SG_ALWAYS Vector<float>::Type load_first(const float* p, int64_t n) {
  return (Vector<float>::Type)_mm256_maskload_ps(p, first_floats(n));
}
SG_ALWAYS Vector<double>::Type load_first(const double* p, int64_t n) {
  return (Vector<double>::Type)_mm256_maskload_pd(p, first_doubles(n));
}
// Not with a mask: on some processors a masked store takes as long as forty stores.
SG_ALWAYS void store_first(float* p, Vector<float>::Type x, int64_t n) {
  if (n >= 8) return _mm256_storeu_ps(p, (__m256)x);
  __m128 part = _mm256_castps256_ps128((__m256)x);
  if (n & 4) {
    _mm_storeu_ps(p, part);
    part = _mm256_extractf128_ps((__m256)x, 1);
    p += 4;
  }
  if (n & 2) {
    _mm_storel_pi((__m64*)p, part);
    part = _mm_movehl_ps(part, part);
    p += 2;
  }
  if (n & 1) _mm_store_ss(p, part);
}
SG_ALWAYS void store_first(double* p, Vector<double>::Type x, int64_t n) {
  if (n >= 4) return _mm256_storeu_pd(p, (__m256d)x);
  __m128d part = _mm256_castpd256_pd128((__m256d)x);
  if (n & 2) {
    _mm_storeu_pd(p, part);
    part = _mm256_extractf128_pd((__m256d)x, 1);
    p += 2;
  }
  if (n & 1) _mm_store_sd(p, part);
}
#else
template <class T>
SG_ALWAYS typename Vector<T>::Type load_first(const T* p, int64_t n) {
  T lanes[Vector<T>::kLanes] = {};
  for (int64_t i = 0; i < n; ++i) lanes[i] = p[i];
  return *(const typename Vector<T>::Loose*)lanes;
}
template <class T>
SG_ALWAYS void store_first(T* p, typename Vector<T>::Type x, int64_t n) {
  T lanes[Vector<T>::kLanes];
  *(typename Vector<T>::Loose*)lanes = x;
  for (int64_t i = 0; i < n; ++i) p[i] = lanes[i];
}
#endif

template <class V, int... I>
SG_ALWAYS V even_elements(V low, V high, std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(low, high, (2 * I)...);
}

// n elements that lie `step` apart, the rest zeros. What lies behind the last one is not read.
template <class T>
SG_ALWAYS typename Vector<T>::Type load_apart(const T* p, int64_t step, int64_t n) {
  using V = typename Vector<T>::Type;
  using Loose = typename Vector<T>::Loose;
  constexpr int kLanes = Vector<T>::kLanes;
  if (step == 2) {
    const int64_t reach = 2 * n - 1, rest = reach - kLanes;
    if (rest <= 0) return even_elements<V>(load_first(p, reach), V{}, std::make_integer_sequence<int, kLanes>{});
    return even_elements<V>(*(const Loose*)p, load_first(p + kLanes, rest), std::make_integer_sequence<int, kLanes>{});
  }
  T lanes[kLanes] = {};
  for (int64_t i = 0; i < n && i < kLanes; ++i) lanes[i] = p[i * step];
  return *(const Loose*)lanes;
}
