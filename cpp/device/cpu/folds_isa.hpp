// Folds along a block: many partial results side by side, then a tree. Included by blocks_isa.cpp inside the namespace
// of an instruction set, after the formulas.

inline constexpr int kLanes = kFoldLanes;

// Folds the upper half onto the lower until one value is left. Sizes are constants, so lanes stay in registers.
template <int Half, class F, class T>
inline void halve(T (&lanes)[kLanes]) {
  for (int j = 0; j < Half; ++j) lanes[j] = F::of(lanes[j], lanes[j + Half]);
  if constexpr (Half > 1) halve<Half / 2, F>(lanes);
}

template <class T, class F>
void fold_lanes(T (&lanes)[kLanes], const T* x, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int j = 0; j < kLanes; ++j) lanes[j] = F::of(lanes[j], x[i + j]);
  for (int j = 0; i + j < n; ++j) lanes[j] = F::of(lanes[j], x[i + j]);
  halve<kLanes / 2, F>(lanes);
}

// Adds n elements of x to the lanes of a sum, or their products with y, if there is one. `asks`: x is in memory, so what
// comes behind it is prefetched: between two rows a processor asks for nothing.
template <class T, bool kProducts, class V>
inline void add_to_lanes(V* sums, const T* x, const T* y, int64_t n, bool asks) {
  using Loose = typename Vector<T>::Loose;
  constexpr int kWidth = Vector<T>::kLanes, kVectors = kLanes / kWidth;
  int64_t i = 0;
  const auto add = [&] {
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = i + v * kWidth;
      const V first = *reinterpret_cast<const Loose*>(x + at);
      if constexpr (kProducts)
        sums[v] += first * *reinterpret_cast<const Loose*>(y + at);
      else
        sums[v] += first;
    }
  };
  const auto ask = [&](const T* from) {
    for (size_t b = 0; b < kLanes * sizeof(T); b += 64)
      __builtin_prefetch(reinterpret_cast<const char*>(from + i + kSumBlock) + b);
  };
  if (asks)
    for (; i + kLanes <= n; i += kLanes) {
      ask(x);
      if constexpr (kProducts) ask(y);
      add();
    }
  for (; i + kLanes <= n; i += kLanes) add();
  for (int v = 0; v < kVectors && i < n; ++v, i += kWidth) {
    const int64_t rest = std::min<int64_t>(kWidth, n - i);
    if constexpr (kProducts)
      sums[v] += load_first(x + i, rest) * load_first(y + i, rest);
    else
      sums[v] += load_first(x + i, rest);
  }
}

template <class T, class V>
inline T sum_of_lanes(V* sums) {
  constexpr int kWidth = Vector<T>::kLanes, kVectors = kLanes / kWidth;
  for (int half = kVectors / 2; half > 0; half /= 2)
    for (int v = 0; v < half; ++v) sums[v] += sums[v + half];
  T lanes[kLanes];
  std::memcpy(lanes, sums, sizeof(V));
  halve<kWidth / 2, F_add>(lanes);
  return lanes[0];
}

// fold_lanes of a sum, with the lanes in registers from the first element to the last vector.
template <class T, bool kProducts>
T sum_lanes(const T* x, const T* y, int64_t n, bool asks = false) {
  typename Vector<T>::Type sums[kLanes / Vector<T>::kLanes] = {};
  add_to_lanes<T, kProducts>(sums, x, y, n, asks);
  return sum_of_lanes<T>(sums);
}

inline void add_part(FoldState* s, double part) {
  if (s->sum == 0) {  // nothing is lost
    s->sum += part;
    return;
  }
  const double sum = s->sum + part, more = sum - s->sum;  // a compensated sum: Knuth's, which has no branch
  const double lost = (s->sum - (sum - more)) + (part - more);
  s->sum = sum;
  s->carry += sum - sum == 0 ? lost : 0;  // nothing is lost next to an infinity or a NaN
}

// A block that is shorter than kSumBlock: the lanes stay open until they have so many elements, so that the sum does not
// depend on how long blocks are.
template <class T, bool kProducts>
void add_open(FoldState* s, const T* x, const T* y, int64_t n) {
  typename Vector<T>::Type sums[kLanes / Vector<T>::kLanes] = {};
  if (s->open) std::memcpy(sums, s->lanes, sizeof sums);
  add_to_lanes<T, kProducts>(sums, x, y, n, false);
  s->open += n;
  if (n > 0 && s->open < kSumBlock) {
    std::memcpy(s->lanes, sums, sizeof sums);
  } else {
    add_part(s, sum_of_lanes<T>(sums));
    s->open = 0;
  }
}

// Calls f(x, n) with blocks of one value, as if it was stored for each element.
template <class T, class F>
void in_copies(T x, int64_t n, F f) {
  T copies[kSumBlock];
  std::fill_n(copies, std::min(n, kSumBlock), x);
  for (int64_t at = 0; at < n; at += kSumBlock) f(copies, std::min(kSumBlock, n - at));
}

template <class T, bool kProducts = false>
void fold_sum(FoldState* s, const void* a, const void* b, int64_t n, bool scalar) {
  const T *x = static_cast<const T*>(a), *y = static_cast<const T*>(b);
  if (n == 0 && s->open == 0) return;
  if constexpr (std::is_floating_point_v<T>) {
    if (scalar) return in_copies(*x, n, [&](const T* same, int64_t count) { fold_sum<T>(s, same, b, count, false); });
    if (s->lanes) return add_open<T, kProducts>(s, x, y, n);
    for (int64_t at = 0; at < n; at += kSumBlock)
      add_part(
          s, sum_lanes<T, kProducts>(x + at, kProducts ? y + at : nullptr, std::min(kSumBlock, n - at), n > kSumBlock));
  } else if (scalar) {
    s->integer = static_cast<int64_t>(static_cast<uint64_t>(s->integer) + static_cast<uint64_t>(n) * uint64_t(*x));
  } else {
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += static_cast<uint64_t>(x[i]);
    s->integer = static_cast<int64_t>(static_cast<uint64_t>(s->integer) + sum);
  }
}

// Each result is a sum of products where both operands lie: used once, they are not worth packing.
template <class T>
void dots(const GemmTile& t) {
  const T *a = static_cast<const T*>(t.a), *b = static_cast<const T*>(t.b), *bias = static_cast<const T*>(t.bias);
  T* c = static_cast<T*>(t.c);
  for (int64_t i = 0; i < t.m; ++i)
    for (int64_t j = 0; j < t.n; ++j) {
      FoldState s{};
      fold_sum<T, true>(&s, a + i * t.a_m, b + j * t.b_n, t.k, false);
      T& to = c[i * t.c_m + j * t.c_n];
      const T sum = static_cast<T>(s.sum + s.carry), total = t.add ? to + sum : sum;
      to = bias ? total + bias[j] : total;
    }
}

// maximum and minimum as one comparison, which is false for NaN: one machine instruction.
template <class F>
struct Beats {
  template <class T>
  static T of(T best, T x) {
    if constexpr (std::is_same_v<F, F_maximum>)
      return x > best ? x : best;
    else
      return x < best ? x : best;
  }
};

template <class T>
bool any_nan(const T* x, int64_t n) {
  uint32_t found = 0;
  for (int64_t i = 0; i < n; ++i) found |= x[i] != x[i];
  return found != 0;
}

// fold_lanes of an extreme of floats in one pass, which also looks for NaN: no comparison finds one.
template <class T, class F>
T extreme_lanes(const T* x, int64_t n, bool& has_nan) {
  using V = typename Vector<T>::Type;
  using Loose = typename Vector<T>::Loose;
  using Bits = decltype(V{} != V{});
  constexpr int kWidth = Vector<T>::kLanes, kVectors = kLanes / kWidth;
  constexpr auto kSign = formulas::Layout<T>::kSign;
  V best[kVectors], first = V{} + x[0];
  for (V& lane : best) lane = first;
  Bits largest = (Bits)first & (Bits{} + ~kSign);  // as integers, NaNs are larger than all numbers
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int v = 0; v < kVectors; ++v) {
      const V here = *reinterpret_cast<const Loose*>(x + i + v * kWidth);
      const Bits bits = (Bits)here & (Bits{} + ~kSign);
      best[v] = std::is_same_v<F, F_maximum> ? larger(here, best[v]) : smaller(here, best[v]);
      largest = bits > largest ? bits : largest;
    }
  T lanes[kLanes];
  std::memcpy(lanes, best, sizeof(lanes));
  for (int j = 0; i + j < n; ++j) lanes[j] = Beats<F>::of(lanes[j], x[i + j]);
  has_nan = any_nan(x + i, n - i);
  for (int j = 0; j < kWidth; ++j) has_nan |= static_cast<decltype(kSign)>(largest[j]) > formulas::Layout<T>::kInf;
  halve<kLanes / 2, Beats<F>>(lanes);
  return lanes[0];
}

template <class T, class F>
void fold_extreme(FoldState* s, const void* a, const void*, int64_t n, bool scalar) {
  const T* x = static_cast<const T*>(a);
  if (n == 0) return;
  if constexpr (std::is_floating_point_v<T>) {
    bool has_nan = false;
    const T* const end = x + (scalar ? 1 : n);
    double best = extreme_lanes<T, F>(x, end - x, has_nan);
    if (has_nan)
      best = *std::find_if(x, end, [](T v) { return v != v; });
    else if (best == 0)
      best = *std::find(x, end, T(0));  // of 0 and -0 the first, too
    s->extreme = F::template of<double>(s->extreme, best);
  } else {
    T lanes[kLanes];
    for (T& lane : lanes) lane = x[0];
    fold_lanes<T, Beats<F>>(lanes, x, scalar ? 1 : n);
    s->integer = F::template of<int64_t>(s->integer, lanes[0]);
  }
}

// Like a sum: partial results of kSumBlock elements, whatever a block has.
template <class T>
void multiply_open(FoldState* s, const T* x, int64_t n) {
  T lanes[kLanes];
  if (s->open)
    std::memcpy(lanes, s->lanes, sizeof lanes);
  else
    std::fill_n(lanes, kLanes, T(1));
  for (int64_t i = 0; i < n; ++i) lanes[i % kLanes] *= x[i];
  s->open += n;
  if (n > 0 && s->open < kSumBlock) {
    std::memcpy(s->lanes, lanes, sizeof lanes);
  } else {
    halve<kLanes / 2, F_mul>(lanes);
    s->extreme *= static_cast<double>(lanes[0]);
    s->open = 0;
  }
}

template <class T>
void fold_product(FoldState* s, const void* a, const void*, int64_t n, bool scalar) {
  const T* x = static_cast<const T*>(a);
  if (n == 0 && s->open == 0) return;
  if constexpr (std::is_floating_point_v<T>) {
    if (scalar)
      return in_copies(*x, n, [&](const T* same, int64_t count) { fold_product<T>(s, same, nullptr, count, false); });
    if (s->lanes) return multiply_open(s, x, n);
    for (int64_t at = 0; at < n; at += kSumBlock) {
      T lanes[kLanes];
      for (T& lane : lanes) lane = 1;
      fold_lanes<T, F_mul>(lanes, x + at, std::min(kSumBlock, n - at));
      s->extreme *= static_cast<double>(lanes[0]);
    }
  } else {
    uint64_t product = static_cast<uint64_t>(s->integer);
    for (int64_t i = 0; i < n; ++i) product *= static_cast<uint64_t>(x[scalar ? 0 : i]);
    s->integer = static_cast<int64_t>(product);
  }
}

// Row by row, each as if it were alone; of up to kSumBlock elements.
template <class T, FoldFn fold>
void fold_each(void* d, const void* a, int64_t step, int64_t length, const FoldState& start, int64_t n) {
  const char* row = static_cast<const char*>(a);
  for (int64_t i = 0; i < n; ++i, row += step) {
    T& to = static_cast<T*>(d)[i];
    if constexpr (std::is_floating_point_v<T> && fold == FoldFn(fold_sum<T>)) {
      to = sum_lanes<T, false>(reinterpret_cast<const T*>(row), nullptr, length);
      continue;
    }
    FoldState s = start;
    fold(&s, row, nullptr, length, false);
    if constexpr (std::is_floating_point_v<T>)
      to = static_cast<T>(s.extreme);
    else if constexpr (std::is_same_v<T, Bool>)
      to = s.integer != 0;
    else
      to = static_cast<T>(s.integer);
  }
}

static_assert(kShortRun == 8);
using Eight = float __attribute__((vector_size(32)));
using EightIndices = int32_t __attribute__((vector_size(32)));

// Eight elements of each of eight rows become eight columns.
inline void turn(Eight (&rows)[8]) {
  Eight pairs[8], fours[8];
  for (int i = 0; i < 8; i += 2) {
    pairs[i] = __builtin_shuffle(rows[i], rows[i + 1], EightIndices{0, 8, 1, 9, 4, 12, 5, 13});
    pairs[i + 1] = __builtin_shuffle(rows[i], rows[i + 1], EightIndices{2, 10, 3, 11, 6, 14, 7, 15});
  }
  for (int i = 0; i < 8; i += 4)
    for (int k = 0; k < 2; ++k) {
      fours[i + 2 * k] = __builtin_shuffle(pairs[i + k], pairs[i + 2 + k], EightIndices{0, 1, 8, 9, 4, 5, 12, 13});
      fours[i + 2 * k + 1] =
          __builtin_shuffle(pairs[i + k], pairs[i + 2 + k], EightIndices{2, 3, 10, 11, 6, 7, 14, 15});
    }
  for (int i = 0; i < 4; ++i) {
    rows[i] = __builtin_shuffle(fours[i], fours[i + 4], EightIndices{0, 1, 2, 3, 8, 9, 10, 11});
    rows[i + 4] = __builtin_shuffle(fours[i], fours[i + 4], EightIndices{4, 5, 6, 7, 12, 13, 14, 15});
  }
}

// Up to eight columns of eight rows.
inline void load_columns(Eight (&columns)[8], const char* from, int64_t step, int64_t count) {
  if (count == 8)
    for (int r = 0; r < 8; ++r) std::memcpy(&columns[r], from + r * step, sizeof(Eight));
  else
    for (int r = 0; r < 8; ++r)
      for (int64_t k = 0; k < 8; ++k)
        columns[r][k] = k < count ? reinterpret_cast<const float*>(from + r * step)[k] : 0;
  turn(columns);
}

// One lane a row.
inline Eight sum_eight_rows(const char* from, int64_t step, int64_t length) {
  Eight sum = {}, columns[8];
  int64_t at = 0;
  for (; at + kShortRun <= length; at += kShortRun, from += sizeof(Eight)) {
    load_columns(columns, from, step, kShortRun);
    Eight part = {};
    for (const Eight& column : columns) part += column;
    sum += part;
  }
  if (at == length) return sum;
  load_columns(columns, from, step, length - at);
  Eight part = {};
  for (int64_t k = 0; k < length - at; ++k) part += columns[k];
  return sum + part;
}

// The same of sums, in the order in which blocks across rows add them.
template <class T>
void sum_each_in_runs(void* d, const void* a, int64_t step, int64_t length, const FoldState&, int64_t n) {
  const char* from = static_cast<const char*>(a);
  int64_t i = 0;
  if constexpr (std::is_same_v<T, float>)
    for (; i + 8 <= n; i += 8, from += 8 * step) {
      const Eight sums = sum_eight_rows(from, step, length);
      std::memcpy(static_cast<T*>(d) + i, &sums, sizeof sums);
    }
  for (; i < n; ++i, from += step) {
    const T* row = reinterpret_cast<const T*>(from);
    T sum = 0;
    for (int64_t at = 0; at < length; at += kShortRun) {
      T part = 0;
      for (int64_t k = at; k < std::min(length, at + kShortRun); ++k) part += row[k];
      sum += part;
    }
    static_cast<T*>(d)[i] = sum;
  }
}

struct FoldLoops {
  FoldFn along;
  RowsFn rows;
};
template <class T, FoldFn fold>
constexpr FoldLoops loops_of = {fold, fold_each<T, fold>};

template <class T>
FoldLoops fold_of(Fold fold) {
  switch (fold) {
    case Fold::sum:
      return loops_of<T, fold_sum<T>>;
    case Fold::maximum:
      return loops_of<T, fold_extreme<T, F_maximum>>;
    case Fold::minimum:
      return loops_of<T, fold_extreme<T, F_minimum>>;
    case Fold::product:
      return loops_of<T, fold_product<T>>;
  }
  return {};
}

FoldLoops folds_of(Fold fold, DType type) {
  switch (type) {
    case DType::boolean:
      return fold_of<uint8_t>(fold);
    case DType::int32:
      return fold_of<int32_t>(fold);
    case DType::int64:
      return fold_of<int64_t>(fold);
    case DType::float32:
      return fold_of<float>(fold);
    case DType::float64:
      return fold_of<double>(fold);
    default:
      return {};  // narrow types are folded as wide ones
  }
}

FoldFn fold_products_loop(DType type) {
  return type == DType::float32   ? FoldFn(fold_sum<float, true>)
         : type == DType::float64 ? FoldFn(fold_sum<double, true>)
                                  : nullptr;
}
FoldFn fold_loop(Fold fold, DType type) { return folds_of(fold, type).along; }
RowsFn fold_rows_loop(Fold fold, DType type, bool runs) {
  runs = runs && fold == Fold::sum;
  if (runs && type == DType::float32) return sum_each_in_runs<float>;
  if (runs && type == DType::float64) return sum_each_in_runs<double>;
  return folds_of(fold, type).rows;
}
