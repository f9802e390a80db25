// Products with the image patches of a convolution (GemmTile::inner), read in place: neighbours in a row of an image
// are a vector. Included by blocks_isa.cpp alone, after gemm_isa.hpp.
//
// Of a convolution, and of its gradient by the image, columns lie in rows: a register tile of the result walks k, as
// in gemm_isa.hpp, and adds in the same order. Of the gradient by the weights, k lies in rows: a register tile is sums
// of vectors, one for each result, whose lanes are added up every kSummed elements. Neither order depends on how a caller
// cuts the product.

inline constexpr int64_t kSummed = 2048;

// ---- columns in rows -----------------------------------------------------------------------------------------------------
// Neighbouring columns, as many as a vector has or fewer: the first lies at `b` behind the places of k, and at `c`.
struct Piece {
  int64_t b, c, count;
};
inline constexpr int64_t kMostColumns = 1024;
struct Pieces {
  int64_t count = 0, inside = 0;  // of the first `inside`, a whole vector may be read
  bool spill = false;             // and written, in order: the next one is written over what is too much
  Piece at[kMostColumns];
};

template <class T>
static void find_pieces(const GemmTile& t, bool one_slab, Pieces& pieces) {
  constexpr int64_t kLanes = Vector<T>::kLanes;
  const int64_t last = t.b_columns[t.n - 1];
  pieces.spill = t.b_n == 1 && one_slab && !t.add;
  for (int64_t j = 0, count = 1; j < t.n; j += count, count = 1) {
    const int64_t b = t.b_columns[j];
    while (count < kLanes && j + count < t.n && t.b_columns[j + count] == b + count * t.b_n) ++count;
    pieces.at[pieces.count++] = {b, j, count};
    if (t.b_n == 1 && b + kLanes <= last + 1 && j + kLanes <= t.n) pieces.inside = pieces.count;
  }
}

// The columns of pieces of b times rows of a packed panel.
template <class T>
struct Strip {
  const T* a;
  const T* b;
  const int64_t* places;
  int64_t k, step;
  T* c;
  int64_t c_m;
  bool from, spill;  // from: adds to what c holds
};

enum class Load { whole, first, apart };

template <class T, int Rows, int kVectors, Load kLoad>
__attribute__((noinline)) static void strip_tile(const Strip<T>& strip, const Piece* pieces) {
  using V = typename Vector<T>::Type;
  using Loose = typename Vector<T>::Loose;
  constexpr int kLanes = Vector<T>::kLanes;
  V sum[Rows][kVectors] = {};  // in registers, as long as every index is a constant
  const T* a = strip.a;
  for (int64_t i = 0; i < strip.k; ++i, a += kRows) {
    const T* from = strip.b + strip.places[i];
    V b[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      if constexpr (kLoad == Load::whole)
        b[v] = *(const Loose*)(from + pieces[v].b);
      else if constexpr (kLoad == Load::first)
        b[v] = load_first(from + pieces[v].b, pieces[v].count);
      else
        b[v] = load_apart(from + pieces[v].b, strip.step, pieces[v].count);
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
      T* c = strip.c + r * strip.c_m + pieces[v].c;
      if (strip.from) sum[r][v] = load_first(c, pieces[v].count) + sum[r][v];
      if ((kLoad == Load::whole && strip.spill) || pieces[v].count == kLanes)
        *(Loose*)c = sum[r][v];
      else
        store_first(c, sum[r][v], pieces[v].count);
    }
}

template <class T, int Rows>
static void strip_of_rows(const Strip<T>& strip, const Pieces& pieces, int64_t begin, int64_t end) {
  constexpr int kVectors = Rows < 3 ? 4 : 2;  // as many sums as hide the time of an addition
  const int64_t inside = pieces.inside < end ? pieces.inside : end;
  int64_t p = begin;
  for (; p + kVectors <= inside; p += kVectors) strip_tile<T, Rows, kVectors, Load::whole>(strip, pieces.at + p);
  for (; p < inside; ++p) strip_tile<T, Rows, 1, Load::whole>(strip, pieces.at + p);
  for (; p < end; ++p) {
    if (strip.step == 1)
      strip_tile<T, Rows, 1, Load::first>(strip, pieces.at + p);
    else
      strip_tile<T, Rows, 1, Load::apart>(strip, pieces.at + p);
  }
}

template <class T>
static void any_strip(int64_t rows, const Strip<T>& strip, const Pieces& pieces, int64_t begin, int64_t end) {
  switch (rows) {
    case 1:
      return strip_of_rows<T, 1>(strip, pieces, begin, end);
    case 2:
      return strip_of_rows<T, 2>(strip, pieces, begin, end);
    case 3:
      return strip_of_rows<T, 3>(strip, pieces, begin, end);
    case 4:
      return strip_of_rows<T, 4>(strip, pieces, begin, end);
#if defined(__AVX__)
    case 5:
      return strip_of_rows<T, 5>(strip, pieces, begin, end);
    case 6:
      return strip_of_rows<T, 6>(strip, pieces, begin, end);
#endif
#if defined(__AVX512F__)
    case 7:
      return strip_of_rows<T, 7>(strip, pieces, begin, end);
    case 8:
      return strip_of_rows<T, 8>(strip, pieces, begin, end);
#endif
  }
}

// The plane of a window is in scratch memory, behind one packed panel of a.
template <class T>
static T* empty_plane(const GemmTile& t) {
  T* plane = static_cast<T*>(t.scratch) + kRows * kSlab;
  for (int64_t i = 0; i < t.window->rows * t.window->pitch; ++i) plane[i] = 0;
  return plane;
}
template <class T>
static void fill_plane(const Window& w, const T* image, T* __restrict plane) {
  for (int64_t y = 0; y < w.height; ++y)
    for (int64_t x = 0; x < w.width; ++x) plane[(w.top + y) * w.pitch + w.left + x] = image[y * w.row + x];
}

// Rows of a that share one b, for a slab of k. Few pieces at a time, so that what all rows read stays in a first cache.
template <class T>
static void multiply_pieces(const GemmTile& t, const T* b, const Pieces& pieces, int64_t row, int64_t m,
                            const Places& places, int64_t k, bool from) {
  T* packed = static_cast<T*>(t.scratch);
  pack_a_at(static_cast<const T*>(t.a) + row * t.a_m, t.a_m, places, m, k, packed);
  T* c = static_cast<T*>(t.c) + row * t.c_m;
  const int64_t together = m > kRows ? 4 : pieces.count;
  for (int64_t p = 0; p < pieces.count; p += together)
    for (int64_t i = 0; i < m; i += kRows)
      any_strip<T>(m - i < kRows ? m - i : kRows,
                   {packed + i * k, b, places.b, k, t.b_n, c + i * t.c_m, t.c_m, from, pieces.spill}, pieces, p,
                   pieces.count - p < together ? pieces.count : p + together);
}

// b in another order: every step-th element is a neighbour, so that columns that lie a step apart are vectors.
struct Order {
  int64_t step = 1, part = 0;  // elements i, i + step ... of b are a part of this length
  int64_t place(int64_t at) const { return step == 1 ? at : at % step * part + at / step; }
};

template <class T>
static void multiply_rows(const GemmTile& t, Order order) {
  const int64_t slab = even_slab(t.k);
  Pieces pieces;
  find_pieces<T>(t, slab == t.k, pieces);
  T* plane = t.window ? empty_plane<T>(t) : nullptr;
  const bool alone = t.window || t.b_m;
  for (int64_t p = 0; p < t.k; p += slab) {
    const int64_t k = t.k - p < slab ? t.k - p : slab, together = alone ? 1 : kTileRows;
    Places places;
    find_places(*t.inner, p, k, places);
    for (int64_t i = 0; i < k; ++i) places.b[i] = order.place(places.b[i]);
    for (int64_t i = 0; i < t.m; i += together) {
      const T* b = static_cast<const T*>(t.b) + i * t.b_m;
      if (t.window) fill_plane(*t.window, b, plane);
      multiply_pieces<T>(t, t.window ? plane : b, pieces, i, t.m - i < together ? t.m - i : together, places, k,
                         t.add || p > 0);
    }
  }
}

template <class T>
static void reorder(const T* b, int64_t count, Order order, T* to) {
  constexpr int64_t kLanes = Vector<T>::kLanes;
  for (int64_t r = 0; r < order.step; ++r, to += order.part) {
    int64_t i = 0, at = r;
    for (; order.step == 2 && at + 2 * kLanes <= count; i += kLanes, at += 2 * kLanes)
      *(typename Vector<T>::Loose*)(to + i) = load_apart(b + at, 2, kLanes);
    for (; at < count; ++i, at += order.step) to[i] = b[at];
  }
}

// Columns that lie a step apart, in an image that is small enough to be reordered.
template <class T>
static bool multiply_rows_apart(const GemmTile& t) {
  const GemmDigits& k = *t.inner;
  const int64_t first = t.b_columns[0], step = t.b_n;
  int64_t last = 0, most = 0, columns[kMostColumns];
  for (int d = 0; d < k.sizes.rank; ++d) {
    if (k.b.v[d] < 0) return false;
    last += (k.sizes.v[d] - 1) * k.b.v[d];
  }
  for (int64_t j = 0; j < t.n; ++j) {
    const int64_t at = t.b_columns[j] - first;
    if (step < 2 || at < 0 || at % step != 0) return false;
    columns[j] = at / step;
    most = at > most ? at : most;
  }
  last += most;
  const Order order{step, last / step + 1};
  if (order.step * order.part > kMostApart) return false;
  T* b = reinterpret_cast<T*>(static_cast<char*>(t.scratch) + kGemmScratch) - kMostApart;
  reorder(static_cast<const T*>(t.b) + first, last + 1, order, b);
  GemmTile whole = t;
  whole.b = b;
  whole.b_n = 1;
  whole.b_columns = columns;
  multiply_rows<T>(whole, order);
  return true;
}

// ---- k in rows -----------------------------------------------------------------------------------------------------------
// Rows of k, `width` long, side by side in a and `step` apart in b.
struct RowsOfK {
  Places at;
  int64_t count, width, step;
};

// Halves added to each other, then quarters, and so on.
template <class V, int kHalf, int... I>
SG_ALWAYS V add_halves(V x, std::integer_sequence<int, I...> lanes) {
  if constexpr (kHalf == 0)
    return x;
  else
    return add_halves<V, kHalf / 2>(x + __builtin_shufflevector(x, x, ((I + kHalf) % int(sizeof...(I)))...), lanes);
}
template <class T>
SG_ALWAYS T sum_of(typename Vector<T>::Type x) {
  constexpr int kLanes = Vector<T>::kLanes;
  return add_halves<typename Vector<T>::Type, kLanes / 2>(x, std::make_integer_sequence<int, kLanes>{})[0];
}

// Rows x columns of the result.
template <class T, int kM, int kN, bool kApart>
__attribute__((noinline)) static void sum_tile(const GemmTile& t, const RowsOfK& rows, int64_t i, int64_t j,
                                               bool from) {
  using V = typename Vector<T>::Type;
  using Loose = typename Vector<T>::Loose;
  constexpr int64_t kLanes = Vector<T>::kLanes;
  V sum[kM][kN] = {};
  const T* a = static_cast<const T*>(t.a) + i * t.a_m;
  const T* b[kN];
  for (int s = 0; s < kN; ++s) b[s] = static_cast<const T*>(t.b) + t.b_columns[j + s];
  const auto add = [&](int64_t at_a, int64_t at_b, auto load_a, auto load_b) __attribute__((always_inline)) {
    V y[kM];
#pragma GCC unroll 4
    for (int r = 0; r < kM; ++r) y[r] = load_a(a + r * t.a_m + at_a);
#pragma GCC unroll 9
    for (int s = 0; s < kN; ++s) {
      const V x = load_b(b[s] + at_b);
#pragma GCC unroll 4
      for (int r = 0; r < kM; ++r) sum[r][s] = multiply_add(y[r], x, sum[r][s]);
    }
  };
  const auto load = [](const T* p) __attribute__((always_inline)) { return (V) * (const Loose*)p; };
  const int64_t step = kApart ? rows.step : 1, whole = rows.width / kLanes * kLanes, rest = rows.width - whole;
  const auto some = [&](const T* p) __attribute__((always_inline)) { return load_first(p, rest); };
  for (int64_t p = 0; p < rows.count; ++p) {
    const int64_t at_a = rows.at.a[p], at_b = rows.at.b[p];
    for (int64_t at = 0; at < whole; at += kLanes) {
      if constexpr (kApart)
        add(at_a + at, at_b + at * step, load,
            [&](const T* p) __attribute__((always_inline)) { return load_apart(p, step, kLanes); });
      else
        add(at_a + at, at_b + at, load, load);
    }
    if (rest == 0) continue;
    if constexpr (kApart)
      add(at_a + whole, at_b + whole * step, some,
          [&](const T* p) __attribute__((always_inline)) { return load_apart(p, step, rest); });
    else
      add(at_a + whole, at_b + whole, some, some);
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
static void sum_block(const GemmTile& t, const RowsOfK& rows, int64_t i, int64_t j, bool from) {
  if (rows.step == 1)
    sum_tile<T, kM, kN, false>(t, rows, i, j, from);
  else
    sum_tile<T, kM, kN, true>(t, rows, i, j, from);
}

// kN columns of the result, which all rows read one after the other: rows of k come from a second cache, kN times less often.
template <class T, int kN>
static int64_t sum_columns(const GemmTile& t, const RowsOfK& rows, int64_t j, bool from) {
#if defined(__AVX512F__)
  constexpr int kSix = 4;  // 24 sums, 4 vectors of a and one of b: of 32 registers
#else
  constexpr int kSix = 2;
#endif
  constexpr int kM = kN == 9 ? 1 : kN == 6 ? kSix : 4;
  int64_t i = 0;
  for (; i + kM <= t.m; i += kM) sum_block<T, kM, kN>(t, rows, i, j, from);
  for (; i < t.m; ++i) sum_block<T, 1, kN>(t, rows, i, j, from);
  return j + kN;
}

template <class T>
static void multiply_sums(const GemmTile& t, const GemmDigits& inner) {
  GemmDigits outer = inner;
  const int last = --outer.sizes.rank;
  RowsOfK rows;
  rows.width = outer.sizes.v[last];
  rows.step = outer.b.v[last];
  int64_t count = 1;
  for (int d = 0; d < last; ++d) count *= outer.sizes.v[d];
  int64_t most = kSummed / rows.width;
  most = most < 1 ? 1 : most < kSlab ? most : kSlab;
  for (int64_t p = 0; p < count; p += rows.count) {
    rows.count = count - p < most ? count - p : most;
    find_places(outer, p, rows.count, rows.at);
    const bool from = t.add || p > 0;
    for (int64_t j = 0; j < t.n;) {
      if constexpr (sizeof(T) == 4) {   // others are rare, and each shape is much code
        if (t.m < 4 && j + 9 <= t.n) {  // a kernel of 3 x 3
          j = sum_columns<T, 9>(t, rows, j, from);
          continue;
        }
        if (j + 6 <= t.n) {
          j = sum_columns<T, 6>(t, rows, j, from);
          continue;
        }
      }
      if (j + 3 <= t.n)
        j = sum_columns<T, 3>(t, rows, j, from);
      else
        j = sum_columns<T, 1>(t, rows, j, from);
    }
  }
}

// Image by image.
template <class T>
static void multiply_window_sums(const GemmTile& t) {
  T* plane = empty_plane<T>(t);
  GemmDigits inner{};
  for (int d = 1; d < t.inner->sizes.rank; ++d) {
    inner.sizes.v[d - 1] = t.inner->sizes.v[d];
    inner.a.v[d - 1] = t.inner->a.v[d];
    inner.b.v[d - 1] = t.inner->b.v[d];
  }
  inner.sizes.rank = t.inner->sizes.rank - 1;
  inner.a.rank = inner.b.rank = inner.sizes.rank;
  GemmTile one = t;
  one.b = plane;
  for (int64_t i = 0; i < t.inner->sizes.v[0]; ++i) {
    fill_plane(*t.window, static_cast<const T*>(t.b) + i * t.inner->b.v[0], plane);
    one.a = static_cast<const T*>(t.a) + i * t.inner->a.v[0];
    one.add = t.add || i > 0;
    multiply_sums<T>(one, inner);
  }
}

// ---- which -----------------------------------------------------------------------------------------------------------------
// Whether columns mostly lie t.b_n apart, in rows that fill their vectors: packed columns fill all of them, and packing
// costs about as much as so many rows of a.
template <class T>
static bool columns_in_rows(const GemmTile& t) {
  constexpr int64_t kLanes = Vector<T>::kLanes, kPacking = 64;
  constexpr int64_t kShort = 4;  // columns that are not worth a vector
  int64_t runs = 0, pieces = 0;
  for (int64_t j = 0, count = 1; j < t.n; j += count, count = 1) {
    while (j + count < t.n && t.b_columns[j + count] == t.b_columns[j] + count * t.b_n) ++count;
    ++runs;
    pieces += (count + kLanes - 1) / kLanes;
  }
  const int64_t packed = (t.n + kLanes - 1) / kLanes;
  return t.n >= kShort * runs && pieces * t.m <= packed * (t.m + kPacking);
}

template <class T>
static void multiply_tile(const GemmTile& t) {
  if (t.inner && t.k > 0) {
    if (t.k_in_rows) return t.window ? multiply_window_sums<T>(t) : multiply_sums<T>(t, *t.inner);
    const bool fits = t.c_n == 1 && t.n <= kMostColumns;
    if (fits && (t.window || (t.b_n == 1 && columns_in_rows<T>(t)))) return multiply_rows<T>(t, {});
    if (fits && !t.b_m && columns_in_rows<T>(t) && multiply_rows_apart<T>(t)) return;
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
