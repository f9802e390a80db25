// Products with what a convolution's kernel sees of images (GemmTile::inner), read where it is: neighbours in a row of
// an image are a vector. Included by blocks_isa.cpp behind gemm_isa.hpp (and by nobody else).
//
// Of a convolution, and of its gradient by the image, columns lie in rows: a register tile of the result walks k, as
// in gemm_isa.hpp, and adds in the same order. Of the gradient by the weights, k lies in rows: a register tile is sums
// of vectors, one for each result, whose lanes are added up every kSummed elements. Neither order depends on how a caller
// cuts the product.

inline constexpr int64_t kSummed = 2048;

// n elements, the rest zeros. What lies behind them is not touched.
#if defined(__AVX512F__)
SG_ALWAYS Vector<float>::Type load_first(const float* p, int64_t n) {
  return (Vector<float>::Type)_mm512_maskz_loadu_ps(static_cast<__mmask16>((1u << n) - 1), p);
}
SG_ALWAYS Vector<double>::Type load_first(const double* p, int64_t n) {
  return (Vector<double>::Type)_mm512_maskz_loadu_pd(static_cast<__mmask8>((1u << n) - 1), p);
}
#elif defined(__AVX2__)
SG_ALWAYS Vector<float>::Type load_first(const float* p, int64_t n) {
  const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  const __m256i some = _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lanes);
  return (Vector<float>::Type)_mm256_maskload_ps(p, some);
}
SG_ALWAYS Vector<double>::Type load_first(const double* p, int64_t n) {
  const __m256i some = _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), _mm256_setr_epi64x(0, 1, 2, 3));
  return (Vector<double>::Type)_mm256_maskload_pd(p, some);
}
#else
template <class T>
SG_ALWAYS typename Vector<T>::Type load_first(const T* p, int64_t n) {
  T lanes[Vector<T>::kLanes] = {};
  for (int64_t i = 0; i < n; ++i) lanes[i] = p[i];
  return *(const typename Vector<T>::Loose*)lanes;
}
#endif

// The first n elements of x.
template <class T>
SG_ALWAYS void store_first(T* p, typename Vector<T>::Type x, int64_t n) {
  T lanes[Vector<T>::kLanes];
  *(typename Vector<T>::Loose*)lanes = x;
  for (int64_t i = 0; i < n; ++i) p[i] = lanes[i];
}

template <class V, int... I>
SG_ALWAYS V even_elements(V low, V high, std::integer_sequence<int, I...>) {
  constexpr int kLanes = sizeof...(I);
  return __builtin_shufflevector(low, high, (2 * I < kLanes ? 2 * I : 2 * I + 1)...);
}

// n elements that lie `step` apart, the rest zeros.
template <class T>
SG_ALWAYS typename Vector<T>::Type load_apart(const T* p, int64_t step, int64_t n) {
  using V = typename Vector<T>::Type;
  using Loose = typename Vector<T>::Loose;
  constexpr int kLanes = Vector<T>::kLanes;
  if (step == 2 && n >= kLanes)  // the second vector ends with the last element
    return even_elements<V>(*(const Loose*)p, *(const Loose*)(p + kLanes - 1),
                            std::make_integer_sequence<int, kLanes>{});
  T lanes[kLanes] = {};
  for (int64_t i = 0; i < n && i < kLanes; ++i) lanes[i] = p[i * step];
  return *(const Loose*)lanes;
}

// ---- columns in rows -----------------------------------------------------------------------------------------------------
// Columns of b that lie `step` apart from `b` on, at each of the places of k, times rows of a packed panel.
template <class T>
struct Run {
  const T* a;
  const T* b;
  const int64_t* places;
  int64_t k, step;
  T* c;
  int64_t c_m;
  bool from;  // adds to what c holds
};

// `last`: columns in the last vector, when that is a part of one.
template <class T, int Rows, int kVectors, bool kPart, bool kApart>
static void run_tile(const Run<T>& run, int64_t last) {
  using V = typename Vector<T>::Type;
  using Loose = typename Vector<T>::Loose;
  constexpr int kLanes = Vector<T>::kLanes;
  const auto whole = [](int v) { return !kPart || v + 1 < kVectors; };
  V sum[Rows][kVectors];  // in registers, as long as every index is a constant
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      const T* c = run.c + r * run.c_m + v * kLanes;
      sum[r][v] = !run.from ? V{} : whole(v) ? (V) * (const Loose*)c : load_first(c, last);
    }
  const T* a = run.a;
  for (int64_t i = 0; i < run.k; ++i, a += kRows) {
    const T* from = run.b + run.places[i];
    V b[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (kApart)
        b[v] = load_apart(from, run.step, last);
      else
        b[v] = whole(v) ? (V) * (const Loose*)(from + v * kLanes) : load_first(from + v * kLanes, last);
    }
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const V x = a[r] - V{};
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = multiply_add(x, b[v], sum[r][v]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      T* c = run.c + r * run.c_m + v * kLanes;
      if (whole(v))
        *(Loose*)c = sum[r][v];
      else
        store_first(c, sum[r][v], last);
    }
}

template <class T, int Rows>
static void run_of_rows(Run<T> run, int64_t n) {
  constexpr int64_t kLanes = Vector<T>::kLanes;
  constexpr int kVectors = Rows < 3 ? 4 : 2;  // as many sums as hide the time of an addition
  const auto next = [&](int64_t columns) { run.b += columns * run.step, run.c += columns, n -= columns; };
  if (run.step != 1) {
    for (; n > 0; next(kLanes)) run_tile<T, Rows, 1, true, true>(run, n < kLanes ? n : kLanes);
    return;
  }
  for (; n >= kVectors * kLanes; next(kVectors * kLanes)) run_tile<T, Rows, kVectors, false, false>(run, 0);
  for (; n > kLanes; next(2 * kLanes)) run_tile<T, Rows, 2, true, false>(run, (n < 2 * kLanes ? n : 2 * kLanes) - kLanes);
  if (n > 0) run_tile<T, Rows, 1, true, false>(run, n);
}

template <class T>
static void any_run_of_rows(int64_t rows, const Run<T>& run, int64_t n) {
  switch (rows) {
    case 1:
      return run_of_rows<T, 1>(run, n);
    case 2:
      return run_of_rows<T, 2>(run, n);
    case 3:
      return run_of_rows<T, 3>(run, n);
    case 4:
      return run_of_rows<T, 4>(run, n);
#if defined(__AVX__)
    case 5:
      return run_of_rows<T, 5>(run, n);
    case 6:
      return run_of_rows<T, 6>(run, n);
#endif
#if defined(__AVX512F__)
    case 7:
      return run_of_rows<T, 7>(run, n);
    case 8:
      return run_of_rows<T, 8>(run, n);
#endif
  }
}

// How many columns from j on lie t.b_n apart.
static int64_t run_from(const GemmTile& t, int64_t j) {
  int64_t end = j + 1;
  while (end < t.n && t.b_columns[end] == t.b_columns[end - 1] + t.b_n) ++end;
  return end - j;
}

// Rows of a that have b in common, for a slab of k.
template <class T>
static void multiply_runs(const GemmTile& t, const T* a, const T* b, T* c, int64_t m, const Places& places, int64_t k,
                          bool from) {
  constexpr int64_t kPiece = 4 * Vector<T>::kLanes;  // of a run: what all rows read of it stays in a first cache
  T* packed = static_cast<T*>(t.scratch);
  pack_a_at(a, t.a_m, places.a, m, k, packed);
  for (int64_t j = 0, run = 0; j < t.n; j += run) {
    run = run_from(t, j);
    for (int64_t s = 0; s < run; s += kPiece)
      for (int64_t i = 0; i < m; i += kRows)
        any_run_of_rows<T>(m - i < kRows ? m - i : kRows,
                           {packed + i * k, b + t.b_columns[j] + s * t.b_n, places.b, k, t.b_n,
                            c + i * t.c_m + j + s, t.c_m, from},
                           run - s < kPiece ? run - s : kPiece);
  }
}

template <class T>
static void multiply_rows(const GemmTile& t) {
  for (int64_t p = 0; p < t.k; p += kSlab) {
    const int64_t k = t.k - p < kSlab ? t.k - p : kSlab, together = t.b_m ? 1 : kTileRows;
    Places places;
    find_places(*t.inner, p, k, places);
    for (int64_t i = 0; i < t.m; i += together)
      multiply_runs(t, static_cast<const T*>(t.a) + i * t.a_m, static_cast<const T*>(t.b) + i * t.b_m,
                    static_cast<T*>(t.c) + i * t.c_m, t.m - i < together ? t.m - i : together, places, k,
                    t.add || p > 0);
  }
}

// ---- k in rows -----------------------------------------------------------------------------------------------------------
// Rows of k, `width` long, side by side in a and `step` apart in b.
struct Runs {
  Places at;
  int64_t count, width, step;
};

template <class T>
SG_ALWAYS T sum_of(typename Vector<T>::Type x) {
  T sum = x[0];
  for (int i = 1; i < Vector<T>::kLanes; ++i) sum += x[i];
  return sum;
}

// Rows x columns of the result.
template <class T, int kM, int kN, bool kApart>
static void sum_tile(const GemmTile& t, const Runs& runs, int64_t i, int64_t j, bool from) {
  using V = typename Vector<T>::Type;
  using Loose = typename Vector<T>::Loose;
  constexpr int64_t kLanes = Vector<T>::kLanes;
  V sum[kM][kN] = {};
  const auto add = [&](const T* a, const T* const* b, int64_t at, auto load_a, auto load_b) __attribute__((always_inline)) {
    V x[kN];
#pragma GCC unroll 9
    for (int s = 0; s < kN; ++s) x[s] = load_b(b[s] + at * (kApart ? runs.step : 1));
#pragma GCC unroll 4
    for (int r = 0; r < kM; ++r) {
      const V y = load_a(a + r * t.a_m + at);
#pragma GCC unroll 9
      for (int s = 0; s < kN; ++s) sum[r][s] = multiply_add(y, x[s], sum[r][s]);
    }
  };
  const auto load = [](const T* p) __attribute__((always_inline)) { return (V) * (const Loose*)p; };
  const int64_t whole = runs.width / kLanes * kLanes, rest = runs.width - whole;
  for (int64_t p = 0; p < runs.count; ++p) {
    const T* a = static_cast<const T*>(t.a) + i * t.a_m + runs.at.a[p];
    const T* b[kN];
    for (int s = 0; s < kN; ++s) b[s] = static_cast<const T*>(t.b) + t.b_columns[j + s] + runs.at.b[p];
    for (int64_t at = 0; at < whole; at += kLanes) {
      if constexpr (kApart)
        add(a, b, at, load, [&](const T* p) __attribute__((always_inline)) { return load_apart(p, runs.step, kLanes); });
      else
        add(a, b, at, load, load);
    }
    if (rest == 0) continue;
    const auto some = [&](const T* p) __attribute__((always_inline)) { return load_first(p, rest); };
    if constexpr (kApart)
      add(a, b, whole, some, [&](const T* p) __attribute__((always_inline)) { return load_apart(p, runs.step, rest); });
    else
      add(a, b, whole, some, some);
  }
#pragma GCC unroll 4
  for (int r = 0; r < kM; ++r)
#pragma GCC unroll 9
    for (int s = 0; s < kN; ++s) {
      T& c = static_cast<T*>(t.c)[(i + r) * t.c_m + (j + s) * t.c_n];
      c = (from ? c : T(0)) + sum_of<T>(sum[r][s]);
    }
}

template <class T, int kM, int kN>
static void sum_block(const GemmTile& t, const Runs& runs, int64_t i, int64_t j, bool from) {
  if (runs.step == 1)
    sum_tile<T, kM, kN, false>(t, runs, i, j, from);
  else
    sum_tile<T, kM, kN, true>(t, runs, i, j, from);
}

// kN columns of the result.
template <class T, int kN, int kAlone>
static int64_t sum_columns(const GemmTile& t, const Runs& runs, int64_t j, bool from) {
  int64_t i = 0;
  for (; kN < kAlone && i + 4 <= t.m; i += 4) sum_block<T, 4, kN>(t, runs, i, j, from);
  for (; i < t.m; ++i) sum_block<T, 1, kN>(t, runs, i, j, from);
  return j + kN;
}

template <class T>
static void multiply_sums(const GemmTile& t) {
  constexpr int kAlone = 9;  // columns of a single row: a kernel of 3 x 3
  GemmDigits outer = *t.inner;
  const int last = --outer.sizes.rank;
  Runs runs;
  runs.width = outer.sizes.v[last];
  runs.step = outer.b.v[last];
  const int64_t count = t.k / runs.width;
  int64_t most = kSummed / runs.width;
  most = most < 1 ? 1 : most < kSlab ? most : kSlab;
  for (int64_t p = 0; p < count; p += runs.count) {
    runs.count = count - p < most ? count - p : most;
    find_places(outer, p, runs.count, runs.at);
    const bool from = t.add || p > 0;
    for (int64_t j = 0; j < t.n;) {
      if (t.m < 4 && j + kAlone <= t.n)
        j = sum_columns<T, kAlone, kAlone>(t, runs, j, from);
      else if (j + 3 <= t.n)
        j = sum_columns<T, 3, kAlone>(t, runs, j, from);
      else
        j = sum_columns<T, 1, kAlone>(t, runs, j, from);
    }
  }
}

// ---- which -----------------------------------------------------------------------------------------------------------------
// How many columns follow each other t.b_n apart, on average.
static int64_t length_of_runs(const GemmTile& t) {
  int64_t runs = 0;
  for (int64_t j = 0; j < t.n; j += run_from(t, j)) ++runs;
  return runs ? t.n / runs : 0;
}

template <class T>
static void multiply_tile(const GemmTile& t) {
  constexpr int64_t kShort = 4;  // columns that are not worth a vector
  if (t.inner && t.k > 0) {
    if (t.k_in_rows) return multiply_sums<T>(t);
    if (t.c_n == 1 && length_of_runs(t) >= kShort) return multiply_rows<T>(t);
  }
  if (t.b_m == 0) return gemm<T>(t);
  GemmTile row = t;
  row.m = 1;
  for (int64_t i = 0; i < t.m; ++i) {
    row.a = static_cast<const T*>(t.a) + i * t.a_m;
    row.b = static_cast<const T*>(t.b) + i * t.b_m;
    row.c = static_cast<T*>(t.c) + i * t.c_m;
    gemm<T>(row);
  }
}
