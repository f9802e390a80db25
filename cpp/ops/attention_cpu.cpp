// Attention on the CPU: blocks of queries by the keys that they see, with the packed products of the device.
#include <cmath>
#include <limits>

#include "base/round.hpp"
#include "math/alu.hpp"
#include "ops/attention.hpp"

namespace sg::attention_op {
namespace {

// How many rows of weights fit in a second-level cache.
int64_t block_of(int64_t keys) { return std::clamp<int64_t>((int64_t{1} << 18) / std::max<int64_t>(1, keys), 8, 64); }

// Which of 32 keys dropout leaves to a query, a bit each. Twin: `kept_bits` in shaders/attention_dropout.glsl.
uint32_t kept_of(uint64_t seed, uint32_t batch, uint32_t head, uint32_t query, uint32_t block, uint32_t below) {
  uint32_t bits = 0;
  for (uint32_t part = 0; part < 4; ++part) {
    const alu::Words random = alu::philox(block * 4 + part, query, head, batch, static_cast<uint32_t>(seed),
                                          static_cast<uint32_t>(seed >> 32));
    const uint32_t words[] = {random.w0, random.w1, random.w2, random.w3};
    for (uint32_t w = 0; w < 4; ++w) {
      bits |= static_cast<uint32_t>((words[w] & 0xffff) >= below) << (8 * part + 2 * w);
      bits |= static_cast<uint32_t>((words[w] >> 16) >= below) << (8 * part + 2 * w + 1);
    }
  }
  return bits;
}

// A matrix of one head.
template <class T>
struct Matrix {
  T* at;
  int64_t step;  // from row to row
  T* row(int64_t i) const { return at + i * step; }
};

template <class T>
struct CpuAttention {
  static constexpr DType kType = std::is_same_v<T, float> ? DType::float32 : DType::float64;
  static constexpr T kNothing = -std::numeric_limits<T>::infinity();
  const CpuArgs& args;
  int options;  // the first tensor that is one
  const int64_t* w = args.words;
  Problem p{w[kBatch], w[kHeads], w[kQueries], w[kKeys], w[kD], w[kE], w[kServes]};
  int64_t flags = w[kFlags];
  bool causal = flags & kCausal;
  T scale = number(kScale), keep_scale = number(kKeepScale);
  const int32_t* starts = flags & kStarts ? args.as<const int32_t>(options) : nullptr;
  int mask_at = options + (flags & kStarts ? 1 : 0), seed_at = mask_at + (flags & kMasked ? 1 : 0);

  T number(int word) const {
    return std::bit_cast<T>(static_cast<std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>(w[word]));
  }

  // Matrix `own` of tensor `i`, whose strides are the `place`-th.
  Matrix<T> matrix(int i, int place, int64_t batch, int64_t own) const {
    const int64_t* s = w + kStrides + 3 * place;
    return {args.as<T>(i) + batch * s[0] + own * s[1], s[2]};
  }

  int64_t block() const { return block_of(p.keys); }
  // How many keys a query may use, when that many come before the first one.
  int64_t seen(int64_t query, int64_t before = 0) const {
    return causal ? std::min(before + query + 1, p.keys) : p.keys;
  }

  // c[m, n] (+)= a[m, k] * b[k, n]
  struct Side {
    const T* at;
    int64_t outer, inner;
  };
  void multiply(Side a, Side b, T* c, int64_t c_m, int64_t m, int64_t n, int64_t k, bool add = false) const {
    args.multiply(kType, {a.at, b.at, c, m, n, k, a.outer, a.inner, b.outer, b.inner, c_m, 1, add});
  }

  // The maximum and the sum, in several lanes that the compiler turns into vectors.
  static constexpr int64_t kLanes = 16;
  template <class F>
  static T fold(const T* x, int64_t n, T start, F f) {
    T lanes[kLanes];
    std::fill(lanes, lanes + kLanes, start);
    int64_t i = 0;
    for (; i + kLanes <= n; i += kLanes)
      for (int64_t l = 0; l < kLanes; ++l) lanes[l] = f(lanes[l], x[i + l]);
    for (; i < n; ++i) lanes[i % kLanes] = f(lanes[i % kLanes], x[i]);
    for (int64_t l = 1; l < kLanes; ++l) lanes[0] = f(lanes[0], lanes[l]);
    return lanes[0];
  }

  // Products of a query and `n` keys to scores: scaled, and masked.
  void score(T* row, int64_t n, int64_t batch, int64_t head, int64_t query) const {
    for (int64_t j = 0; j < n; ++j) row[j] *= scale;
    if (!(flags & kMasked)) return;
    const int64_t* s = w + kMask + 1;
    const int64_t at = batch * s[0] + head * s[1] + query * s[2], step = s[3];
    if (w[kMask]) {
      const bool* mask = args.as<const bool>(mask_at) + at;
      for (int64_t j = 0; j < n; ++j) row[j] = mask[j * step] ? row[j] : kNothing;
    } else {
      const T* mask = args.as<const T>(mask_at) + at;
      for (int64_t j = 0; j < n; ++j) row[j] += mask[j * step];
    }
  }

  // Calls f(j, kept) for the first n weights of a query.
  template <class F>
  void each_kept(int64_t n, int64_t batch, int64_t head, int64_t query, F f) const {
    const uint64_t seed = *args.as<const uint64_t>(seed_at);
    for (int64_t j0 = 0; j0 < n; j0 += 32) {
      const uint32_t bits =
          kept_of(seed, static_cast<uint32_t>(batch), static_cast<uint32_t>(head), static_cast<uint32_t>(query),
                  static_cast<uint32_t>(j0 / 32), static_cast<uint32_t>(w[kBelow]));
      for (int64_t j = j0; j < std::min(n, j0 + 32); ++j) f(j, (bits >> (j - j0) & 1) != 0);
    }
  }

  void forward() const {
    const int64_t rows = block(), blocks = divide_up(p.queries, rows);
    args.parallel(p.batch * p.heads * blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % blocks * rows;
        forward(i / blocks, first, std::min(rows, p.queries - first));
      }
    });
  }

  void forward(int64_t matrix_number, int64_t first, int64_t rows) const {
    const int64_t batch = matrix_number / p.heads, head = matrix_number % p.heads, source = head / p.serves;
    const Matrix<T> q = matrix(0, 0, batch, head), out = matrix(3, 3, batch, head);
    const Matrix<T> k = matrix(1, 1, batch, source), v = matrix(2, 2, batch, source);
    T* logs = args.as<T>(4) + matrix_number * p.queries;
    const int64_t before = starts ? std::max(0, starts[batch]) : 0;
    const int64_t n = seen(first + rows - 1, before);
    T* weights = static_cast<T*>(args.scratch(rows * n * static_cast<int64_t>(sizeof(T))));
    multiply({q.row(first), q.step, 1}, {k.at, 1, k.step}, weights, n, rows, n, p.d);
    T sums[64];
    for (int64_t r = 0; r < rows; ++r) {
      T* row = weights + r * n;
      const int64_t visible = seen(first + r, before);
      score(row, visible, batch, head, first + r);
      const T high = fold(row, visible, kNothing, [](T a, T b) { return b > a ? b : a; });
      if (high == kNothing && (flags & kMasked) && fold(row, visible, T(0), [](T a, T b) { return a + b; }) < 0) {
        std::fill(row, row + n, T(0));  // no key at all
        sums[r] = 1;
        logs[first + r] = 0;
        continue;
      }
      for (int64_t j = 0; j < visible; ++j) row[j] -= high;
      args.exp(kType, row, visible);
      std::fill(row + visible, row + n, T(0));
      sums[r] = fold(row, visible, T(0), [](T a, T b) { return a + b; });
      logs[first + r] = high + std::log(sums[r]);
      if (flags & kDropout)
        each_kept(visible, batch, head, first + r, [&](int64_t j, bool kept) { row[j] = kept ? row[j] : 0; });
    }
    multiply({weights, n, 1}, {v.at, v.step, 1}, out.row(first), out.step, rows, p.e, n);
    for (int64_t r = 0; r < rows; ++r) {
      T* row = out.row(first + r);
      const T factor = keep_scale / sums[r];
      for (int64_t j = 0; j < p.e; ++j) row[j] *= factor;
    }
  }

  void backward() const {
    args.parallel(p.batch * p.sources(), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t batch = i / p.sources(), source = i % p.sources();
        const Matrix<T> dk = matrix(7, 5, batch, source), dv = matrix(8, 6, batch, source);
        for (int64_t j = 0; j < p.keys; ++j) {
          if (flags & kWantsKey) std::fill(dk.row(j), dk.row(j) + p.d, T(0));
          if (flags & kWantsValue) std::fill(dv.row(j), dv.row(j) + p.e, T(0));
        }
        for (int64_t head = source * p.serves; head < (source + 1) * p.serves; ++head) backward(batch, head);
      }
    });
  }

  void backward(int64_t batch, int64_t head) const {
    const int64_t source = head / p.serves;
    const Matrix<T> q = matrix(0, 0, batch, head), g = matrix(3, 3, batch, head), dq = matrix(6, 4, batch, head),
                    k = matrix(1, 1, batch, source), v = matrix(2, 2, batch, source), dk = matrix(7, 5, batch, source),
                    dv = matrix(8, 6, batch, source);
    const int64_t rows_at = (batch * p.heads + head) * p.queries;
    const T *logs = args.as<const T>(4) + rows_at, *deltas = args.as<const T>(5) + rows_at;
    const int64_t most = block();
    T* weights = static_cast<T*>(args.scratch(2 * most * p.keys * static_cast<int64_t>(sizeof(T))));
    T* slopes = weights + most * p.keys;
    const bool wants_q = flags & kWantsQuery, wants_k = flags & kWantsKey, wants_v = flags & kWantsValue;
    for (int64_t first = 0; first < p.queries; first += most) {
      const int64_t rows = std::min(most, p.queries - first), n = seen(first + rows - 1);
      multiply({q.row(first), q.step, 1}, {k.at, 1, k.step}, weights, n, rows, n, p.d);
      if (wants_q || wants_k)
        multiply({g.row(first), g.step, 1}, {v.at, 1, v.step}, slopes, n, rows, n, p.e);
      else
        std::fill(slopes, slopes + rows * n, T(0));
      for (int64_t r = 0; r < rows; ++r) {
        T *weight = weights + r * n, *slope = slopes + r * n;
        const int64_t query = first + r, visible = seen(query);
        const T log = logs[query], delta = deltas[query];
        score(weight, visible, batch, head, query);
        for (int64_t j = 0; j < visible; ++j) weight[j] -= log;
        args.exp(kType, weight, visible);
        std::fill(weight + visible, weight + n, T(0));
        if (flags & kDropout)
          each_kept(visible, batch, head, query, [&](int64_t j, bool kept) {
            slope[j] = weight[j] * ((kept ? slope[j] * keep_scale : 0) - delta) * scale;
            weight[j] = kept ? weight[j] * keep_scale : 0;
          });
        else
          for (int64_t j = 0; j < visible; ++j) slope[j] = weight[j] * (slope[j] - delta) * scale;
        std::fill(slope + visible, slope + n, T(0));
      }
      if (wants_v) multiply({weights, 1, n}, {g.row(first), g.step, 1}, dv.at, dv.step, n, p.e, rows, true);
      if (wants_q) multiply({slopes, n, 1}, {k.at, k.step, 1}, dq.row(first), dq.step, rows, p.d, n);
      if (wants_k) multiply({slopes, 1, n}, {q.row(first), q.step, 1}, dk.at, dk.step, n, p.d, rows, true);
    }
  }
};

template <class T>
void forward_of(const CpuArgs& args) {
  CpuAttention<T>{args, kForwardTensors}.forward();
}
template <class T>
void backward_of(const CpuArgs& args) {
  CpuAttention<T>{args, kBackwardTensors}.backward();
}

int64_t weights_bytes(const Node& node) {
  const int64_t keys = problem_of(node).keys;
  return block_of(keys) * keys * static_cast<int64_t>(size_of(node.dtype));
}

}  // namespace

void kept_on_cpu(const CpuArgs& args) {
  const int64_t *w = args.words, heads = w[1], queries = w[2], keys = w[3];
  const uint64_t seed = *args.as<const uint64_t>(0);
  args.parallel(w[0] * heads * queries, 64, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t j = 0; j < keys; j += 32) {
        const uint32_t bits =
            kept_of(seed, static_cast<uint32_t>(i / queries / heads), static_cast<uint32_t>(i / queries % heads),
                    static_cast<uint32_t>(i % queries), static_cast<uint32_t>(j / 32), static_cast<uint32_t>(w[4]));
        for (int64_t l = 0; l < std::min<int64_t>(32, keys - j); ++l)
          args.as<bool>(1)[i * keys + j + l] = (bits >> l & 1) != 0;
      }
  });
}

void forward_on_cpu(const Node& node, CustomKernel& custom) {
  custom.cpu = node.dtype == DType::float32 ? forward_of<float> : forward_of<double>;
  custom.scratch = weights_bytes(node);
}

void backward_on_cpu(const Node& node, CustomKernel& custom) {
  custom.cpu = node.dtype == DType::float32 ? backward_of<float> : backward_of<double>;
  custom.scratch = 2 * weights_bytes(node);
}

}  // namespace sg::attention_op
