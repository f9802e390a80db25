// Folds along a block: many partial results side by side, then a tree. Included by blocks_isa.cpp inside the namespace
// of an instruction set, after the formulas.

inline constexpr int kLanes = 64;         // partial results side by side
inline constexpr int64_t kSummed = 1024;  // elements that are added before the total takes them: its error grows with
                                          // how many there are in a lane, not with the row

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

// fold_lanes of a sum, with the lanes in registers from the first element on.
template <class T>
T sum_lanes(const T* x, int64_t n) {
  using V = typename Vector<T>::Type;
  using Loose = typename Vector<T>::Loose;
  constexpr int kWidth = Vector<T>::kLanes, kVectors = kLanes / kWidth;
  V sums[kVectors] = {};
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (int v = 0; v < kVectors; ++v) sums[v] += *reinterpret_cast<const Loose*>(x + i + v * kWidth);
  T lanes[kLanes];
  std::memcpy(lanes, sums, sizeof(lanes));
  for (int j = 0; i + j < n; ++j) lanes[j] += x[i + j];
  halve<kLanes / 2, F_add>(lanes);
  return lanes[0];
}

template <class T>
void fold_sum(FoldState* s, const void* a, int64_t n, bool scalar) {
  const T* x = static_cast<const T*>(a);
  if (n == 0) return;
  if constexpr (std::is_floating_point_v<T>) {
    for (int64_t at = 0; at < n; at += kSummed) {
      const int64_t count = std::min(kSummed, n - at);
      const double part = scalar ? static_cast<double>(*x) * static_cast<double>(count) : sum_lanes(x + at, count);
      const double sum = s->sum + part, more = sum - s->sum;  // a compensated sum: Knuth's, which has no branch
      const double lost = (s->sum - (sum - more)) + (part - more);
      s->sum = sum;
      s->carry += sum - sum == 0 ? lost : 0;  // nothing is lost next to an infinity or a NaN
    }
  } else if (scalar) {
    s->integer = static_cast<int64_t>(static_cast<uint64_t>(s->integer) + static_cast<uint64_t>(n) * uint64_t(*x));
  } else {
    uint64_t sum = 0;
    for (int64_t i = 0; i < n; ++i) sum += static_cast<uint64_t>(x[i]);
    s->integer = static_cast<int64_t>(static_cast<uint64_t>(s->integer) + sum);
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

template <class T, class F>
void fold_extreme(FoldState* s, const void* a, int64_t n, bool scalar) {
  const T* x = static_cast<const T*>(a);
  if (n == 0) return;
  T lanes[kLanes];
  for (T& lane : lanes) lane = x[0];
  fold_lanes<T, Beats<F>>(lanes, x, scalar ? 1 : n);
  if constexpr (std::is_floating_point_v<T>) {
    const double best = any_nan(x, scalar ? 1 : n) ? std::numeric_limits<double>::quiet_NaN() : lanes[0];
    s->extreme = F::template of<double>(s->extreme, best);
  } else {
    s->integer = F::template of<int64_t>(s->integer, lanes[0]);
  }
}

template <class T>
void fold_product(FoldState* s, const void* a, int64_t n, bool scalar) {
  const T* x = static_cast<const T*>(a);
  if (n == 0) return;
  if constexpr (std::is_floating_point_v<T>) {
    if (scalar) {
      for (int64_t i = 0; i < n; ++i) s->extreme *= static_cast<double>(*x);
    } else {
      T lanes[kLanes];
      for (T& lane : lanes) lane = 1;
      fold_lanes<T, F_mul>(lanes, x, n);
      s->extreme *= static_cast<double>(lanes[0]);
    }
  } else {
    uint64_t product = static_cast<uint64_t>(s->integer);
    for (int64_t i = 0; i < n; ++i) product *= static_cast<uint64_t>(x[scalar ? 0 : i]);
    s->integer = static_cast<int64_t>(product);
  }
}

template <class T>
FoldFn fold_of(Fold fold) {
  switch (fold) {
    case Fold::sum:
      return fold_sum<T>;
    case Fold::maximum:
      return fold_extreme<T, F_maximum>;
    case Fold::minimum:
      return fold_extreme<T, F_minimum>;
    case Fold::product:
      return fold_product<T>;
  }
  return nullptr;
}

FoldFn fold_loop(Fold fold, DType type) {
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
      return nullptr;  // narrow types are folded as wide ones
  }
}
