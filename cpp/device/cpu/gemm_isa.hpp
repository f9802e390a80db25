// A packed matrix product for one tile of the result, any strides. Included by blocks_isa.cpp inside the namespace of
// an instruction set, and by no other file: the same text becomes three kernels.
//
// k is cut in slabs of kSlab; for each, a is packed in panels of kRows rows, b in panels of two vectors of columns,
// and a register tile of kRows x 2 vectors walks the slab. Each result element adds the products of a slab in the order
// of k, with one multiply-add each (fused where the instruction set has it), and then the sums of the slabs: short
// chains round less than one long chain. The result does not depend on how a caller cuts the product.
#include "device/cpu/vectors_isa.hpp"

inline constexpr int64_t kSlab = 256;      // a panel of b then fills half of a 64 KiB, or 2/3 of a 48 KiB first cache
inline constexpr int64_t kTileRows = 384;  // rows of a packed at a time: 384 KiB of the second cache

// Rows x two vectors of the result: c = (from ? c : 0) + a panel * b panel + bias, if there is one. c has unit column
// stride here. A panel of a is packed, or where it is: rows that are a_m apart, each in order along k.
template <class T, int Rows, bool kPacked>
static void register_tile(int64_t k, const T* a, int64_t a_m, const T* b, int64_t b_k, T* c, int64_t c_m, bool from,
                          const T* bias) {
  using V = typename Vector<T>::Type;
  using Loose = typename Vector<T>::Loose;
  constexpr int kLanes = Vector<T>::kLanes;
  V sum[Rows][2] = {};
  for (int64_t i = 0; i < k; ++i) {
    const V b0 = *(const Loose*)b, b1 = *(const Loose*)(b + kLanes);
#pragma GCC unroll 8
    for (int r = 0; r < Rows; ++r) {
      const V x = a[kPacked ? r : r * a_m] - V{};
      sum[r][0] = multiply_add(x, b0, sum[r][0]);
      sum[r][1] = multiply_add(x, b1, sum[r][1]);
    }
    a += kPacked ? kRows : 1;
    b += b_k;
  }
#pragma GCC unroll 8
  for (int r = 0; r < Rows; ++r)  // written out, or the sums would live in memory
#pragma GCC unroll 2
    for (int v = 0; v < 2; ++v) {
      Loose& to = *(Loose*)(c + r * c_m + v * kLanes);
      const V total = from ? to + sum[r][v] : sum[r][v];
      to = bias ? total + *(const Loose*)(bias + v * kLanes) : total;
    }
}

// One row x kVectors vectors: many columns of b are read at once, in long runs. The sums are those of register_tile().
template <class T, int kVectors>
static void register_row(int64_t k, const T* a, int64_t a_k, const T* b, int64_t b_k, T* c, bool from, const T* bias) {
  using V = typename Vector<T>::Type;
  using Loose = typename Vector<T>::Loose;
  constexpr int kLanes = Vector<T>::kLanes;
  V sum[kVectors] = {};
  for (int64_t i = 0; i < k; ++i, b += b_k) {
    const V x = a[i * a_k] - V{};
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) sum[v] = multiply_add(x, (V) * (const Loose*)(b + v * kLanes), sum[v]);
  }
#pragma GCC unroll 16
  for (int v = 0; v < kVectors; ++v) {
    Loose& to = *(Loose*)(c + v * kLanes);
    const V total = from ? to + sum[v] : sum[v];
    to = bias ? total + *(const Loose*)(bias + v * kLanes) : total;
  }
}

template <class T, bool kPacked>
static void any_register_tile(int64_t rows, int64_t k, const T* a, int64_t a_m, const T* b, int64_t b_k, T* c,
                              int64_t c_m, bool from, const T* bias) {
  switch (rows) {
    case 1:
      return register_tile<T, 1, kPacked>(k, a, a_m, b, b_k, c, c_m, from, bias);
    case 2:
      return register_tile<T, 2, kPacked>(k, a, a_m, b, b_k, c, c_m, from, bias);
    case 3:
      return register_tile<T, 3, kPacked>(k, a, a_m, b, b_k, c, c_m, from, bias);
    case 4:
      return register_tile<T, 4, kPacked>(k, a, a_m, b, b_k, c, c_m, from, bias);
#if defined(__AVX__)
    case 5:
      return register_tile<T, 5, kPacked>(k, a, a_m, b, b_k, c, c_m, from, bias);
    case 6:
      return register_tile<T, 6, kPacked>(k, a, a_m, b, b_k, c, c_m, from, bias);
#endif
#if defined(__AVX512F__)
    case 7:
      return register_tile<T, 7, kPacked>(k, a, a_m, b, b_k, c, c_m, from, bias);
    case 8:
      return register_tile<T, 8, kPacked>(k, a, a_m, b, b_k, c, c_m, from, bias);
#endif
  }
}

// kLanes vectors as a square matrix: swaps the off-diagonal halves, then those of each quarter, and so on.
template <class V, int kHalf, int... I>
SG_ALWAYS void swap_halves(V& x, V& y, std::integer_sequence<int, I...>) {
  constexpr int kLanes = sizeof...(I);
  const V a = x, b = y;
  x = __builtin_shufflevector(a, b, ((I & kHalf) ? I - kHalf + kLanes : I)...);
  y = __builtin_shufflevector(a, b, ((I & kHalf) ? I + kLanes : I + kHalf)...);
}
template <class V, int kLanes, int kHalf>
SG_ALWAYS void transpose(V (&rows)[kLanes]) {
  if constexpr (kHalf > 0) {
#pragma GCC unroll 16
    for (int i = 0; i < kLanes; ++i)
      if (!(i & kHalf)) swap_halves<V, kHalf>(rows[i], rows[i + kHalf], std::make_integer_sequence<int, kLanes>{});
    transpose<V, kLanes, kHalf / 2>(rows);
  }
}

// `count` neighbours along k of kRows rows, at most kLanes, from the last to the first if kBack. Writes a little more, so
// what follows in the panel is written afterwards.
template <class T, bool kBack, class Load>
SG_ALWAYS void pack_block(const T* a, int64_t a_m, int64_t count, Load load, T* to) {
  using V = typename Vector<T>::Type;
  using Loose = typename Vector<T>::Loose;
  constexpr int kLanes = Vector<T>::kLanes, kParts = (kRows + kLanes - 1) / kLanes;
  V part[kParts][kLanes];
#pragma GCC unroll 4
  for (int i = 0; i < kParts; ++i) {
#pragma GCC unroll 16
    for (int r = 0; r < kLanes; ++r) part[i][r] = i * kLanes + r < kRows ? load(a + (i * kLanes + r) * a_m) : V{};
    transpose<V, kLanes, kLanes / 2>(part[i]);
  }
#pragma GCC unroll 16
  for (int s = 0; s < kLanes; ++s) {
    const int p = kBack ? kLanes - 1 - s : s;  // a constant: parts stay in registers
    if (p >= count) continue;
#pragma GCC unroll 4
    for (int i = 0; i < kParts; ++i) *(Loose*)(to + (kBack ? count - 1 - p : p) * kRows + i * kLanes) = part[i][p];
  }
}
template <class T>
static void pack_whole(const T* a, int64_t a_m, T* to) {
  using Loose = typename Vector<T>::Loose;
  const auto load = [](const T* p)
                        __attribute__((always_inline)) { return (typename Vector<T>::Type) * (const Loose*)p; };
  pack_block<T, false>(a, a_m, Vector<T>::kLanes, load, to);
}
template <class T>
static void pack_back(const T* a, int64_t a_m, int64_t count, T* to) {
  const auto load = [&](const T* p) __attribute__((always_inline)) { return load_first(p, count); };
  for (int64_t r = kRows; r < 2 * kRows; ++r) __builtin_prefetch(a + r * a_m);  // the next panel's: rows lie far apart
  pack_block<T, true>(a - (count - 1), a_m, count, load, to);
}

// Panels of kRows rows, k-major inside: to[panel][k][row]. Missing rows are left as they are: their results are not
// used. Element p of a row lies at `at(p)`; `ahead(p)` elements, itself included, lie side by side there, and `back(p)`
// do in the opposite direction.
template <class T, class At, class Ahead, class Back>
SG_ALWAYS void pack_panels(const T* a, int64_t a_m, At at, Ahead ahead, Back back, int64_t m, int64_t k, T* to) {
  constexpr int64_t kLanes = Vector<T>::kLanes;
  for (int64_t i0 = 0; i0 < m; i0 += kRows, to += kRows * k) {
    const int64_t rows = m - i0 < kRows ? m - i0 : kRows;
    const T* from = a + i0 * a_m;
    for (int64_t p = 0; p < k;) {
      const int64_t backward = back(p) < kLanes ? back(p) : kLanes;
      if (rows == kRows && p + kLanes < k && ahead(p) >= kLanes) {
        pack_whole(from + at(p), a_m, to + p * kRows);
        p += kLanes;
      } else if (rows == kRows && p + backward < k && backward >= kLanes / 2) {
        pack_back(from + at(p), a_m, backward, to + p * kRows);
        p += backward;
      } else {
        for (int64_t r = 0; r < rows; ++r) to[p * kRows + r] = from[r * a_m + at(p)];
        ++p;
      }
    }
  }
}

template <class T>
static void pack_a(const T* a, int64_t a_m, int64_t a_k, int64_t m, int64_t k, T* to) {
  const auto at = [&](int64_t p) __attribute__((always_inline)) { return p * a_k; };
  const auto ahead = [&](int64_t p) __attribute__((always_inline)) { return a_k == 1 ? k - p : 1; };
  const auto back = [](int64_t) __attribute__((always_inline)) { return int64_t(0); };
  const int64_t whole = a_m == 1 ? m / kRows * kRows : 0;  // rows that lie side by side
  constexpr int64_t kTogether = 8;                         // along k: a cache line of a holds parts of two panels
  for (int64_t first = 0; whole && first < k; first += kTogether)
    for (int64_t i = 0; i < whole; i += kRows)
      for (int64_t p = first; p < k && p < first + kTogether; ++p)
        __builtin_memcpy(to + i * k + p * kRows, a + i + p * a_k, kRows * sizeof(T));
  pack_panels(a + whole * a_m, a_m, at, ahead, back, m - whole, k, to + whole * k);
}

// kLanes columns of b, each contiguous along k, to rows of a panel; k a multiple of kLanes.
template <class T>
static void pack_columns(const T* b, int64_t b_n, int64_t k, T* to) {
  using V = typename Vector<T>::Type;
  using Loose = typename Vector<T>::Loose;
  constexpr int kLanes = Vector<T>::kLanes;
  for (int64_t p = 0; p < k; p += kLanes) {
    V rows[kLanes];
#pragma GCC unroll 16
    for (int j = 0; j < kLanes; ++j) rows[j] = *(const Loose*)(b + j * b_n + p);
    transpose<V, kLanes, kLanes / 2>(rows);
#pragma GCC unroll 16
    for (int j = 0; j < kLanes; ++j) *(Loose*)(to + (p + j) * 2 * kLanes) = rows[j];
  }
}

// One panel of b: to[k][2 vectors], missing columns zero.
template <class T>
static void pack_b(const T* b, int64_t b_k, int64_t b_n, int64_t k, int64_t n, T* to) {
  constexpr int64_t kColumns = 2 * Vector<T>::kLanes;
  if (n < kColumns)
    for (int64_t i = 0; i < k * kColumns; ++i) to[i] = 0;
  if (b_n == 1) {
    for (int64_t p = 0; p < k; ++p)
      for (int64_t j = 0; j < n; ++j) to[p * kColumns + j] = b[p * b_k + j];
    return;
  }
  constexpr int64_t kLanes = Vector<T>::kLanes;
  for (int64_t j0 = 0; j0 < n; j0 += kLanes) {
    const int64_t columns = n - j0 < kLanes ? n - j0 : kLanes;
    const T* from = b + j0 * b_n;
    int64_t p = 0;
    if (b_k == 1 && columns == kLanes) {
      p = k / kLanes * kLanes;
      pack_columns(from, b_n, p, to + j0);
    }
    for (; p < k; ++p)
      for (int64_t j = 0; j < columns; ++j) to[p * kColumns + j0 + j] = from[p * b_k + j * b_n];
  }
}

// Where k0 .. k0 + count - 1 lie in both operands, and how many neighbours follow each in memory, itself included, in
// the order of memory or back.
struct Places {
  int64_t a[kSlab], b[kSlab];
  int32_t a_ahead[kSlab], a_back[kSlab], b_ahead[kSlab];
};
static void find_run(const int64_t* at, int64_t count, int64_t step, int32_t* run) {
  for (int64_t i = count - 1; i >= 0; --i) run[i] = i + 1 < count && at[i + 1] == at[i] + step ? run[i + 1] + 1 : 1;
}
static void find_places(const GemmDigits& digits, int64_t k0, int64_t count, Places& places) {
  int64_t at[kMaxRank];
  for (int d = digits.sizes.rank - 1; d >= 0; --d) at[d] = k0 % digits.sizes.v[d], k0 /= digits.sizes.v[d];
  int64_t a = 0, b = 0;
  for (int d = 0; d < digits.sizes.rank; ++d) a += at[d] * digits.a.v[d], b += at[d] * digits.b.v[d];
  for (int64_t i = 0; i < count; ++i) {
    places.a[i] = a;
    places.b[i] = b;
    for (int d = digits.sizes.rank - 1; d >= 0; --d) {
      a += digits.a.v[d], b += digits.b.v[d];
      if (++at[d] < digits.sizes.v[d]) break;
      a -= at[d] * digits.a.v[d], b -= at[d] * digits.b.v[d];
      at[d] = 0;
    }
  }
  find_run(places.a, count, 1, places.a_ahead);
  find_run(places.a, count, -1, places.a_back);
  find_run(places.b, count, 1, places.b_ahead);
}

template <class T>
static void pack_a_at(const T* a, int64_t a_m, const Places& places, int64_t m, int64_t k, T* to) {
  const auto at = [&](int64_t p) __attribute__((always_inline)) { return places.a[p]; };
  const auto ahead = [&](int64_t p) __attribute__((always_inline)) { return int64_t(places.a_ahead[p]); };
  const auto back = [&](int64_t p) __attribute__((always_inline)) { return int64_t(places.a_back[p]); };
  pack_panels(a, a_m, at, ahead, back, m, k, to);
}

// n elements that lie `step` apart, side by side; what lies up to a vector behind them may be written too. Whole vectors
// of the rows of a small image would overlap, and lie across two lines of the cache.
template <class T>
SG_ALWAYS void copy_run(const T* from, int64_t step, T* to, int64_t n) {
  using Loose = typename Vector<T>::Loose;
  constexpr int64_t kLanes = Vector<T>::kLanes;
  for (; n >= kLanes; n -= kLanes, from += kLanes * step, to += kLanes)
    *(Loose*)to = step == 1 ? (typename Vector<T>::Type) * (const Loose*)from : load_apart(from, step, kLanes);
  if (n == 0) return;
  if (step == 1 && n == kLanes / 2)
    __builtin_memcpy(to, from, sizeof(T) * kLanes / 2);
  else if (step == 1 && n == kLanes / 4)
    __builtin_memcpy(to, from, sizeof(T) * kLanes / 4);
  else
    *(Loose*)to = step == 1 ? load_first(from, n) : load_apart(from, step, n);
}

// One panel of b whose columns begin at `columns`, mostly `step` apart, and whose rows lie at `places`.
template <class T>
static void pack_b_at(const T* b, const Places& places, const int64_t* columns, int64_t step, int64_t k, int64_t n,
                      T* to) {
  constexpr int64_t kLanes = Vector<T>::kLanes, kColumns = 2 * kLanes;
  if (n < kColumns)
    for (int64_t i = 0; i < k * kColumns; ++i) to[i] = 0;
  int64_t begin[kColumns + 1], runs = 0;
  for (int64_t j = 0; j < n; ++j)
    if (j == 0 || columns[j] != columns[j - 1] + step) begin[runs++] = j;
  begin[runs] = n;
  if (runs * 4 <= n) {  // in order: what follows is written over the zeros
    for (int64_t p = 0; p < k; ++p)
      for (int64_t r = 0; r < runs; ++r)
        copy_run(b + places.b[p] + columns[begin[r]], step, to + p * kColumns + begin[r], begin[r + 1] - begin[r]);
    return;
  }
  for (int64_t p = 0, count = 0; p < k; p += count) {
    count = places.b_ahead[p] < kLanes ? places.b_ahead[p] : kLanes;
    const int64_t whole = count >= kLanes / 2 ? n / kLanes * kLanes : 0;  // columns that go by squares
    for (int64_t j = 0; j < whole; j += kLanes) {
      using V = typename Vector<T>::Type;
      V rows[kLanes];
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i) rows[i] = load_first(b + places.b[p] + columns[j + i], count);
      transpose<V, kLanes, kLanes / 2>(rows);
#pragma GCC unroll 16
      for (int i = 0; i < kLanes; ++i)
        if (i < count) *(typename Vector<T>::Loose*)(to + (p + i) * kColumns + j) = rows[i];
    }
    for (int64_t i = p; i < p + count; ++i)
      for (int64_t j = whole; j < n; ++j) to[i * kColumns + j] = b[places.b[i] + columns[j]];
  }
}

inline constexpr int64_t kMostApart = 1 << 17;  // elements of b that are put in another order (images_isa.hpp)
inline constexpr int64_t kGemmScratch =
    (kTileRows + 2 * kRows) * kSlab * 8 + 2 * kVectorBytes * kSlab + 2 * kVectorBytes * kRows + kMostApart * 8;

// Prefetches part [begin, end) out of k of the next panel of b, two vectors each, while a panel is multiplied, so that
// it is in cache when it is packed.
template <class T>
SG_ALWAYS void ask_for_panel(const T* b, int64_t b_k, int64_t b_n, int64_t k, int64_t begin, int64_t end) {
  constexpr int64_t kLanes = Vector<T>::kLanes;
  if (b_n == 1) {
    for (int64_t p = begin; p < end; ++p) {
      __builtin_prefetch(b + p * b_k, 0, 2);
      __builtin_prefetch(b + p * b_k + 2 * kLanes - 1, 0, 2);
    }
  } else if (b_k == 1) {
    for (int64_t v = 2 * begin; v < 2 * end; ++v) __builtin_prefetch(b + v * kLanes % k + v * kLanes / k * b_n, 0, 2);
  }
}

template <class T>
static void gemm_slab(const GemmTile& t, const T* a, const T* b, const Places* places, T* c, int64_t m, int64_t k,
                      bool from, const T* bias) {
  constexpr int64_t kColumns = 2 * Vector<T>::kLanes;
  T* packed_b = static_cast<T*>(t.scratch);
  T* edge = packed_b + kColumns * kSlab;
  T* packed_a = edge + kColumns * kRows;
  // Packing costs about as much as one panel of columns: a tile with few of them reads a where it is.
  const bool in_order = places ? places->a_ahead[0] >= k : t.a_k == 1;
  const bool packs = !in_order || t.n > 4 * kColumns;
  if (!packs && places)
    a += places->a[0];
  else if (places)
    pack_a_at(a, t.a_m, *places, m, k, packed_a);
  else if (packs)
    pack_a(a, t.a_m, t.a_k, m, k, packed_a);
  const auto tile = [&](int64_t i, const T* panel, int64_t panel_k, T* to, int64_t to_m, const T* row) {
    const int64_t rows = m - i < kRows ? m - i : kRows;
    if (packs)
      any_register_tile<T, true>(rows, k, packed_a + i * k, 0, panel, panel_k, to, to_m, from, row);
    else
      any_register_tile<T, false>(rows, k, a + i * t.a_m, t.a_m, panel, panel_k, to, to_m, from, row);
  };
  constexpr int kVectors = 2 * kRows;  // of a row: as many sums as a tile has
  constexpr int64_t kWide = kVectors * Vector<T>::kLanes;
  int64_t first = 0;
  if (m == 1 && !places && t.b_n == 1 && t.c_n == 1 && t.n >= 2 * kWide)  // below, panels are as fast
    for (; first + kWide <= t.n; first += kWide)
      register_row<T, kVectors>(k, a, t.a_k, b + first, t.b_k, c + first, from, bias ? bias + first : nullptr);
  for (int64_t j = first; j < t.n; j += kColumns) {
    const int64_t columns = t.n - j < kColumns ? t.n - j : kColumns;
    const T* panel = b + j * t.b_n;
    int64_t panel_k = t.b_k;
    // A panel that is read only a few times is not worth packing when its rows lie together.
    if (places) {
      pack_b_at(b, *places, t.b_columns + j, t.b_n, k, columns, packed_b);
      panel = packed_b;
      panel_k = kColumns;
    } else if (t.b_n != 1 || columns < kColumns || m > 16 * kRows) {
      pack_b(panel, t.b_k, t.b_n, k, columns, packed_b);
      panel = packed_b;
      panel_k = kColumns;
    }
    T last_bias[kColumns] = {};
    for (int64_t s = 0; bias && s < columns; ++s) last_bias[s] = bias[j + s];
    const bool another = !places && j + 2 * kColumns <= t.n;
    const int64_t share = (k * kRows + m - 1) / m;
    for (int64_t i = 0, asked = 0; i < m; i += kRows) {
      const int64_t rows = m - i < kRows ? m - i : kRows;
      if (another && asked < k) {
        const int64_t end = asked + share < k ? asked + share : k;
        ask_for_panel(b + (j + kColumns) * t.b_n, t.b_k, t.b_n, k, asked, end);
        asked = end;
      }
      T* to = c + i * t.c_m + j * t.c_n;
      if (columns == kColumns && t.c_n == 1) {
        for (int64_t r = kRows; r < 2 * kRows && i + r < m; ++r) {  // the next tile's, which would wait for them
          __builtin_prefetch(to + r * t.c_m, 1);
          __builtin_prefetch(to + r * t.c_m + kColumns - 1, 1);
        }
        tile(i, panel, panel_k, to, t.c_m, bias ? bias + j : nullptr);
        continue;
      }
      if (from)
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t s = 0; s < columns; ++s) edge[r * kColumns + s] = to[r * t.c_m + s * t.c_n];
      tile(i, panel, panel_k, edge, kColumns, bias ? last_bias : nullptr);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t s = 0; s < columns; ++s) to[r * t.c_m + s * t.c_n] = edge[r * kColumns + s];
    }
  }
}

// k of a convolution, in slabs of one length: how many columns a caller's tile has decides which loop reads it, this one
// or one of images_isa.hpp, and no bit.
static int64_t even_slab(int64_t k) {
  const int64_t slabs = k > kSlab ? (k + kSlab - 1) / kSlab : 1;
  return (k + slabs - 1) / slabs;
}

template <class T>
static void gemm(const GemmTile& t) {
  const int64_t slab = t.inner ? even_slab(t.k) : kSlab;
  for (int64_t i = 0; i < t.m; i += kTileRows) {
    const int64_t m = t.m - i < kTileRows ? t.m - i : kTileRows;
    T* c = static_cast<T*>(t.c) + i * t.c_m;
    const T* a = static_cast<const T*>(t.a) + i * t.a_m;
    const T* b = static_cast<const T*>(t.b);
    if (t.k == 0 && !t.add)
      for (int64_t r = 0; r < m; ++r)
        for (int64_t s = 0; s < t.n; ++s) c[r * t.c_m + s * t.c_n] = 0;
    for (int64_t p = 0; p < t.k; p += slab) {
      const int64_t k = t.k - p < slab ? t.k - p : slab;
      const bool from = t.add || p > 0;
      if (t.inner) {
        Places places;
        find_places(*t.inner, p, k, places);
        gemm_slab<T>(t, a, b, &places, c, m, k, from, nullptr);
      } else {
        const T* bias = p + k == t.k ? static_cast<const T*>(t.bias) : nullptr;
        gemm_slab<T>(t, a + p * t.a_k, b + p * t.b_k, nullptr, c, m, k, from, bias);
      }
    }
  }
}
