// Attention without a matrix of queries by keys in memory, and the same for queries that follow a cache. Forward, each block of queries walks the keys; backward, the
// weights are computed again from the logarithms of their sums (Dao, FlashAttention-2, 2023). GPUs:
// shaders/attention.glsl. Gradients of gradients, and shapes that no kernel fits, use ordinary ops.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/round.hpp"
#include "kernel/custom.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace {

constexpr int64_t kMaxHead = 128;  // elements of a query, key or value that a kernel takes

// Tensors are [batch, heads, rows, elements] with elements side by side.
struct Problem {
  int64_t batch, heads, queries, keys, d, e;  // d elements of a query and a key, e of a value
  int64_t pairs(bool causal) const {          // of a query and a key that it sees, in all heads
    const int64_t n = std::min(queries, keys);
    return batch * heads * (causal ? n * (n + 1) / 2 + (queries - n) * keys : queries * keys);
  }
  int64_t logs() const { return batch * heads * queries; }
};

// Which gradients a launch computes, beside `causal`. kStarts: a tensor says how many keys come before the first query.
// From kFurther on: how many further heads of queries share one of keys and values.
enum Wants : int64_t { kCausal = 1, kWantsQuery = 2, kWantsKey = 4, kWantsValue = 8, kStarts = 16, kFurther = 256 };

// A new tensor is laid out like another: heads inside rows, as after a split of one projection, or outside.
Dims strides_like(const Dims& other, const Dims& shape) {
  if (other[1] >= other[2]) return contiguous_strides(shape);
  return {shape[1] * shape[2] * shape[3], shape[3], shape[1] * shape[3], 1};
}

struct AttentionParameters {
  int64_t keys, e;
  int64_t wants;
  uint64_t scale_bits;
  AttentionParameters() = default;
  AttentionParameters(const Problem& p, int64_t wanted, double scale)
      : keys(p.keys), e(p.e), wants(wanted), scale_bits(std::bit_cast<uint64_t>(scale)) {}
  double scale() const { return std::bit_cast<double>(scale_bits); }
};
AttentionParameters parameters_of(const Node& node) { return node.parameters.as<AttentionParameters>(); }

Problem problem_of(const Node& node) {
  const Dims& q = node.domain;
  const AttentionParameters a = parameters_of(node);
  return {q[0], q[1], q[2], a.keys, q[3], a.e};
}

// ---- words: sizes, flags, the scale, then three strides a matrix ---------------------------------------------------------
constexpr int kStrides = 8;

std::vector<int64_t> words_of(const Problem& p, const Node& node, std::initializer_list<Dims> strides) {
  const AttentionParameters a = parameters_of(node);
  const int64_t bits = node.dtype == DType::float32 ? std::bit_cast<uint32_t>(static_cast<float>(a.scale()))
                                                    : static_cast<int64_t>(a.scale_bits);
  std::vector<int64_t> words = {p.batch, p.heads, p.queries, p.keys, p.d, p.e, a.wants, bits};
  for (const Dims& s : strides) words.insert(words.end(), {s[0], s[1], s[2]});
  return words;
}

// ---- on the CPU ----------------------------------------------------------------------------------------------------------
// How many rows of weights fit in a second-level cache.
int64_t block_of(int64_t keys) { return std::clamp<int64_t>((int64_t{1} << 18) / std::max<int64_t>(1, keys), 8, 64); }

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
  const CpuArgs& args;
  Problem p{args.words[0], args.words[1], args.words[2], args.words[3], args.words[4], args.words[5]};
  bool causal = args.words[6] & kCausal, starts = args.words[6] & kStarts;
  int64_t group = 1 + args.words[6] / kFurther;  // heads of queries for one of keys and values
  T scale = std::bit_cast<T>(static_cast<std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>(args.words[7]));

  // Matrix `head` of tensor `i`, whose strides are the `place`-th; one serves that many heads.
  Matrix<T> matrix(int i, int place, int64_t head, int64_t serves = 1) const {
    const int64_t* s = args.words + kStrides + 3 * place;
    return {args.as<T>(i) + head / p.heads * s[0] + head % p.heads / serves * s[1], s[2]};
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

  void forward() const {
    const int64_t rows = block(), blocks = divide_up(p.queries, rows);
    args.parallel(p.batch * p.heads * blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % blocks * rows;
        forward(i / blocks, first, std::min(rows, p.queries - first));
      }
    });
  }

  void forward(int64_t head, int64_t first, int64_t rows) const {
    const Matrix<T> q = matrix(0, 0, head), out = matrix(3, 3, head);
    const Matrix<T> k = matrix(1, 1, head, group), v = matrix(2, 2, head, group);
    T* logs = args.as<T>(4) + head * p.queries;
    const int64_t before = starts ? std::max(0, args.as<const int32_t>(5)[head / p.heads]) : 0;
    const int64_t n = seen(first + rows - 1, before);
    T* weights = static_cast<T*>(args.scratch(rows * n * static_cast<int64_t>(sizeof(T))));
    multiply({q.row(first), q.step, 1}, {k.at, 1, k.step}, weights, n, rows, n, p.d);
    T sums[64];
    for (int64_t r = 0; r < rows; ++r) {
      T* row = weights + r * n;
      const int64_t visible = seen(first + r, before);
      for (int64_t j = 0; j < visible; ++j) row[j] *= scale;
      const T high = fold(row, visible, -std::numeric_limits<T>::infinity(), [](T a, T b) { return b > a ? b : a; });
      for (int64_t j = 0; j < visible; ++j) row[j] -= high;
      args.exp(kType, row, visible);
      std::fill(row + visible, row + n, T(0));
      sums[r] = fold(row, visible, T(0), [](T a, T b) { return a + b; });
      logs[first + r] = high + std::log(sums[r]);
    }
    multiply({weights, n, 1}, {v.at, v.step, 1}, out.row(first), out.step, rows, p.e, n);
    for (int64_t r = 0; r < rows; ++r) {
      T* row = out.row(first + r);
      const T factor = 1 / sums[r];
      for (int64_t j = 0; j < p.e; ++j) row[j] *= factor;
    }
  }

  void backward() const {
    args.parallel(p.batch * p.heads, 1, [&](int64_t begin, int64_t end) {
      for (int64_t head = begin; head < end; ++head) backward(head);
    });
  }

  void backward(int64_t head) const {
    const Matrix<T> q = matrix(0, 0, head), k = matrix(1, 1, head), v = matrix(2, 2, head), g = matrix(3, 3, head);
    const T *logs = args.as<const T>(4) + head * p.queries, *deltas = args.as<const T>(5) + head * p.queries;
    const Matrix<T> dq = matrix(6, 4, head), dk = matrix(7, 5, head), dv = matrix(8, 6, head);
    const int64_t most = block();
    T* weights = static_cast<T*>(args.scratch(2 * most * p.keys * static_cast<int64_t>(sizeof(T))));
    T* slopes = weights + most * p.keys;
    const bool wants_q = args.words[6] & kWantsQuery, wants_k = args.words[6] & kWantsKey,
               wants_v = args.words[6] & kWantsValue;
    for (int64_t j = 0; j < p.keys; ++j) {
      if (wants_k) std::fill(dk.row(j), dk.row(j) + p.d, T(0));
      if (wants_v) std::fill(dv.row(j), dv.row(j) + p.e, T(0));
    }
    for (int64_t first = 0; first < p.queries; first += most) {
      const int64_t rows = std::min(most, p.queries - first), n = seen(first + rows - 1);
      multiply({q.row(first), q.step, 1}, {k.at, 1, k.step}, weights, n, rows, n, p.d);
      for (int64_t r = 0; r < rows; ++r) {
        T* row = weights + r * n;
        const int64_t visible = seen(first + r);
        const T log = logs[first + r];
        for (int64_t j = 0; j < visible; ++j) row[j] = row[j] * scale - log;
        args.exp(kType, row, visible);
        std::fill(row + visible, row + n, T(0));
      }
      if (wants_v) multiply({weights, 1, n}, {g.row(first), g.step, 1}, dv.at, dv.step, n, p.e, rows, true);
      if (!wants_q && !wants_k) continue;
      multiply({g.row(first), g.step, 1}, {v.at, 1, v.step}, slopes, n, rows, n, p.e);
      for (int64_t r = 0; r < rows; ++r) {
        T* row = slopes + r * n;
        const T *weight = weights + r * n, delta = deltas[first + r];
        const int64_t visible = seen(first + r);
        for (int64_t j = 0; j < visible; ++j) row[j] = weight[j] * (row[j] - delta) * scale;
        std::fill(row + visible, row + n, T(0));
      }
      if (wants_q) multiply({slopes, n, 1}, {k.at, k.step, 1}, dq.row(first), dq.step, rows, p.d, n);
      if (wants_k) multiply({slopes, 1, n}, {q.row(first), q.step, 1}, dk.at, dk.step, n, p.d, rows, true);
    }
  }
};

template <class T>
void forward_on_cpu(const CpuArgs& args) {
  CpuAttention<T>{args}.forward();
}
template <class T>
void backward_on_cpu(const CpuArgs& args) {
  CpuAttention<T>{args}.backward();
}

// ---- on a GPU ------------------------------------------------------------------------------------------------------------
// Rows and columns of the weights that a workgroup, and a thread, computes at a time.
struct Tile {
  int64_t rows, cols, thread_rows, thread_cols;
  int64_t threads() const { return rows / thread_rows * (cols / thread_cols); }
};
constexpr Tile kDecode[] = {{8, 32, 1, 4}, {8, 8, 1, 1}};  // a few queries, many keys
constexpr Tile kForward[] = {{64, 32, 4, 4}, {32, 32, 4, 4}, {16, 16, 2, 2}, {8, 8, 1, 1}};
constexpr Tile kBackward[] = {{64, 32, 4, 2}, {32, 32, 4, 2}, {32, 16, 4, 2}, {16, 16, 2, 2}, {8, 8, 1, 1}};

// Twin of ROOM in attention.glsl: the space for a row of that many elements, in units of 16 bytes.
constexpr int64_t room(int64_t elements) {
  const int64_t units = (elements + 3) / 4;
  return units % 8 == 0 ? units : units | 1;
}

int64_t shared_bytes(const Tile& t, int64_t d, int64_t e, bool forward) {
  const int64_t own = room(d) + (forward ? 0 : room(e)), other = std::max(room(d), room(e));
  return 16 * (t.rows * own + t.cols * other + t.rows * room(t.cols)) +
         (forward ? 4 * t.rows * (t.cols / t.thread_cols) : 0);
}

// The largest tile that the device holds, unless it would be half empty or leave processors of a large GPU idle. A
// software driver gets small tiles, which compile faster.
Tile choose(const char* op, std::span<const Tile> tiles, int64_t heads, int64_t rows, int64_t d, int64_t e,
            bool forward, const Features& f) {
  constexpr int64_t kBusy = 128;
  const auto unfit = [&](const Tile& t) {
    if (t.rows >= 2 * rows || (f.software && t.thread_rows > 2)) return true;
    return t.rows > 32 && heads * ((rows + t.rows - 1) / t.rows) < kBusy;
  };
  for (const Tile& t : tiles) {
    if (&t != &tiles.back() && unfit(t)) continue;
    if (t.threads() <= f.max_group_threads && shared_bytes(t, d, e, forward) <= f.shared_bytes) return t;
  }
  fail<LimitError>(op, std::to_string(f.shared_bytes) + " bytes of shared memory are too few", "use the CPU device");
}

std::string source(const Tile& t, const Problem& p, const char* phase) {
  std::string s;
  const std::pair<const char*, int64_t> constants[] = {
      {"ROWS", t.rows}, {"COLS", t.cols}, {"THREAD_ROWS", t.thread_rows}, {"THREAD_COLS", t.thread_cols},
      {"D", p.d},       {"E", p.e}};
  for (const auto& [name, value] : constants) s += std::string("#define ") + name + " " + std::to_string(value) + "\n";
  return s + "#define " + phase + "\n#include \"attention.glsl\"\n";
}

void launch_on_gpu(CustomKernel& custom, const Problem& p, int64_t rows, std::span<const Tile> tiles, const char* phase,
                   const Features& features) {
  const Tile t =
      choose("attention", tiles, p.batch * p.heads, rows, p.d, p.e, std::string(phase) == "FORWARD", features);
  custom.source = source(t, p, phase);
  const int64_t work = p.batch * p.heads * ((rows + t.rows - 1) / t.rows);
  custom.groups[0] = std::min<int64_t>(work, 32768);
  custom.groups[1] = (work + custom.groups[0] - 1) / custom.groups[0];
}

// ---- launches --------------------------------------------------------------------------------------------------------------
// Where each result begins in the memory that they share, and how it is laid out.
struct Results {
  Dims out_strides;
  int64_t logs_at;
};
Results results_of(const Problem& p, const Dims& like) {
  const Dims shape = {p.batch, p.heads, p.queries, p.e};
  return {strides_like(like, shape), shape.numel()};
}

struct Gradients {
  Dims shape[3], strides[3];
  int64_t at[3], numel;
};
Gradients gradients_of(const Problem& p, const Dims& q, const Dims& k, const Dims& v, int64_t wants) {
  Gradients g{{{p.batch, p.heads, p.queries, p.d}, {p.batch, p.heads, p.keys, p.d}, {p.batch, p.heads, p.keys, p.e}},
              {},
              {},
              0};
  const Dims* like[] = {&q, &k, &v};
  for (int i = 0; i < 3; ++i) {
    g.strides[i] = strides_like(*like[i], g.shape[i]);
    g.at[i] = g.numel;
    if (wants & (kWantsQuery << i)) g.numel += g.shape[i].numel();
  }
  return g;
}

void expand_forward(const Node& node, bool gpu, Expansion& e) {
  const Problem p = problem_of(node);
  const Results r = results_of(p, node.in[0].strides);
  const DType t = node.dtype;
  CustomKernel& custom = e.launch(node.op->name);
  custom.tensors = {{0, t}, {1, t}, {2, t}, {e.result(), t, true}, {e.result(), t, true, r.logs_at}};
  if (parameters_of(node).wants & kStarts) custom.tensors.push_back({3, DType::int32});
  custom.words = words_of(p, node, {node.in[0].strides, node.in[1].strides, node.in[2].strides, r.out_strides});
  custom.cost = 2.0 * static_cast<double>(p.pairs(parameters_of(node).wants & kCausal) * (p.d + p.e));
  custom.cpu = t == DType::float32 ? forward_on_cpu<float> : forward_on_cpu<double>;
  custom.scratch = block_of(p.keys) * p.keys * size_of(t);
  if (gpu)
    launch_on_gpu(custom, p, p.queries, p.queries < 8 ? std::span<const Tile>(kDecode) : kForward, "FORWARD", *e.gpu);
}

// Inputs: query, key, value, the gradient of the result, logarithms of sums, and of each query the product of its result
// with that gradient.
void expand_backward(const Node& node, bool gpu, Expansion& e) {
  const Problem p = problem_of(node);
  const Dims &q = node.in[0].strides, &k = node.in[1].strides, &v = node.in[2].strides;
  const int64_t wants = parameters_of(node).wants;
  const Gradients g = gradients_of(p, q, k, v, wants);
  const DType t = node.dtype;
  const double pairs = 2.0 * static_cast<double>(p.pairs(wants & kCausal));
  const auto launch = [&](const std::string& suffix, int64_t products_d, int64_t products_e) -> CustomKernel& {
    CustomKernel& custom = e.launch(node.op->name + suffix);
    for (int i = 0; i < 6; ++i) custom.tensors.push_back({i, t});
    for (int i = 0; i < 3; ++i) custom.tensors.push_back({e.result(), t, true, g.at[i]});
    custom.words = words_of(p, node, {q, k, v, node.in[3].strides, g.strides[0], g.strides[1], g.strides[2]});
    custom.cost = pairs * static_cast<double>(products_d * p.d + products_e * p.e);
    return custom;
  };
  if (!gpu) {
    CustomKernel& custom = launch("", 3, 2);
    custom.cpu = t == DType::float32 ? backward_on_cpu<float> : backward_on_cpu<double>;
    custom.scratch = 2 * block_of(p.keys) * p.keys * size_of(t);
    return;
  }
  if (wants & kWantsQuery) launch_on_gpu(launch("_query", 2, 1), p, p.queries, kBackward, "QUERIES", *e.gpu);
  if (wants & (kWantsKey | kWantsValue)) launch_on_gpu(launch("_key", 2, 2), p, p.keys, kBackward, "KEYS", *e.gpu);
}

// ---- attention from ordinary ops ----------------------------------------------------------------------------------------
Tensor turned(const Tensor& x) { return transpose(x, -2, -1); }

// `before`: how many keys come before the first query, for each of the batch.
Tensor weights_of(const Tensor& q, const Tensor& k, double scale, bool causal, const Tensor* before = nullptr) {
  Tensor scores = matmul(q, turned(k)) * scale;
  if (causal) {
    const int last = scores.rank() - 1;
    const Dims& shape = scores.shape();
    Tensor last_key = positions(shape, last - 1, q.device());
    if (before) last_key = last_key + *before;
    scores = where(positions(shape, last, q.device()) <= last_key, scores, -std::numeric_limits<double>::infinity());
  }
  return softmax(scores, -1);
}

// ---- gradients -----------------------------------------------------------------------------------------------------------
constexpr uint32_t kLast = 1u << 3;  // the elements of [batch, heads, rows, elements]

struct AttentionAttributes {
  double scale;
  bool causal;
};

void vjp_attention(Vjp& v) {
  const Tensor q = v.in(0), k = v.in(1), value = v.in(2);
  const auto [scale, causal] = v.attributes<AttentionAttributes>();
  if (grad_enabled()) {  // to be differentiated again
    const Tensor weights = weights_of(q, k, scale, causal);
    const Tensor slopes = matmul(v.g, turned(value));
    const Tensor d = weights * (slopes - sum(slopes * weights, kLast, true)) * scale;
    if (v.needs(0)) v.result[0] = matmul(d, k);
    if (v.needs(1)) v.result[1] = matmul(turned(d), q);
    if (v.needs(2)) v.result[2] = matmul(turned(weights), v.g);
    return;
  }
  int64_t wants = causal;
  for (int i = 0; i < 3; ++i) wants |= v.needs(i) ? kWantsQuery << i : 0;
  const Problem p{q.shape()[0], q.shape()[1], q.shape()[2], k.shape()[2], q.shape()[3], value.shape()[3]};
  const Results r = results_of(p, q.strides());
  const Tensor kept = wrap(v.node.output.value(v.node.op->name, v.node.location), {r.logs_at + p.logs()});
  const Dims rows = {p.batch, p.heads, p.queries};
  const Tensor out = part_of(kept, q.dtype(), v.g.shape(), r.out_strides, 0);
  const Tensor logs = part_of(kept, q.dtype(), rows, contiguous_strides(rows), r.logs_at);
  const Tensor g = p.e == 1 || v.g.strides()[3] == 1 ? v.g : contiguous(v.g);
  const Gradients to = gradients_of(p, q.strides(), k.strides(), value.strides(), wants);
  const Tensor packed = custom_kernel(ops::AttentionGradient, {q, k, value, g, logs, contiguous(sum(g * out, kLast))},
                                      {to.numel}, q.dtype(), AttentionParameters(p, wants, scale));
  for (int i = 0; i < 3; ++i)
    if (v.needs(i)) v.result[i] = part_of(packed, q.dtype(), to.shape[i], to.strides[i], to.at[i]);
}

// ---- the op ----------------------------------------------------------------------------------------------------------------
void check(const Tensor& q, const Tensor& k, const Tensor& v) {
  const auto shapes = [&] { return q.shape().str() + ", " + k.shape().str() + " and " + v.shape().str(); };
  for (const Tensor* x : {&q, &k, &v}) {
    if (x->is_number() || x->rank() < 2)
      fail<ValueError>("attention", "query, key and value need two dimensions or more", "add them with unsqueeze()");
    if (!is_float(x->dtype()) || x->dtype() != q.dtype())
      fail<TypeError>("attention",
                      std::string("query, key and value are ") + name_of(q.dtype()) + ", " + name_of(k.dtype()) +
                          " and " + name_of(v.dtype()),
                      "give them one floating type");
  }
  common_device("attention", {&q, &k, &v});
  const auto size = [](const Tensor& x, int from_end) { return x.shape()[x.rank() - from_end]; };
  if (size(q, 1) != size(k, 1))
    fail<ValueError>("attention", "queries and keys differ in their last size, " + shapes(), "use the same");
  if (size(k, 2) != size(v, 2))
    fail<ValueError>("attention", "there are not as many keys as values, " + shapes(), "use the same");
}

Dims leading(const Tensor& x) {
  Dims d;
  for (int i = 0; i + 2 < x.rank(); ++i) d.push(x.shape()[i]);
  return d;
}

// [..., rows, elements] as [batch, heads, rows, elements] with elements side by side; copied only if strides require
// it.
Tensor as_heads(const Tensor& x0, const Dims& batch) {
  Dims shape = batch;
  shape.push(x0.shape()[x0.rank() - 2]);
  shape.push(x0.shape()[x0.rank() - 1]);
  Tensor x = shape == x0.shape() ? x0 : expand(x0, shape);
  const int last = shape.rank - 1;
  if (batch.rank < 2)
    x = batch.rank ? unsqueeze(x, 0) : reshape(x, {1, 1, shape[0], shape[1]});
  else if (batch.rank > 2)
    x = reshape(x, {batch.numel() / batch[batch.rank - 1], batch[batch.rank - 1], shape[last - 1], shape[last]});
  return x.strides()[3] == 1 || x.shape()[3] == 1 ? x : contiguous(x);
}

bool has_kernel(const Tensor& q, const Tensor& k, const Tensor& v) {
  const auto fits = [](const Tensor& x) { return x.numel() > 0 && x.shape()[x.rank() - 1] <= kMaxHead; };
  if (!fits(q) || !fits(k) || !fits(v)) return false;
  // On a GPU, few queries make a small matrix of weights, whose products spread many keys over more processors.
  const bool few = q.shape()[q.rank() - 2] < 8 && k.shape()[k.rank() - 2] > 64;
  return !q.device().is_gpu() || (q.dtype() == DType::float32 && !few);
}

}  // namespace

namespace ops {
const OpInfo Attention{.name = "attention",
                       .doc = "softmax(scale * query @ key^T) @ value, block by block.",
                       .kind = Kind::kernel,
                       .arity = 3,
                       .saves = kSavesA | kSavesB | kSavesC | kSavesOutput,
                       .vjp = vjp_attention,
                       .expand = expand_forward};
const OpInfo AttentionGradient{.name = "attention_gradient",
                               .doc = "The gradients of attention by query, key and value.",
                               .kind = Kind::kernel,
                               .arity = 6,
                               .expand = expand_backward};
const OpInfo AttentionAfter{.name = "attention_after",
                            .doc = "Causal attention of queries that follow keys of a cache; without gradients.",
                            .kind = Kind::kernel,
                            .arity = 4,
                            .expand = expand_forward};
}  // namespace ops

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, double scale, bool causal) {
  check(query, key, value);
  const DType dtype = query.dtype(), wide = wide_of(dtype);
  const Dims batch =
      broadcast_shapes("attention", broadcast_shapes("attention", leading(query), leading(key)), leading(value));
  const Tensor q0 = cast(query, wide), k0 = cast(key, wide), v0 = cast(value, wide);
  if (!has_kernel(q0, k0, v0)) return cast(matmul(weights_of(q0, k0, scale, causal), v0), dtype);
  const Tensor q = as_heads(q0, batch), k = as_heads(k0, batch), v = as_heads(v0, batch);
  const Problem p{q.shape()[0], q.shape()[1], q.shape()[2], k.shape()[2], q.shape()[3], v.shape()[3]};
  const Results r = results_of(p, q.strides());
  Tensor packed;
  {
    const GradMode off(false);
    packed =
        custom_kernel(ops::Attention, {q, k, v}, {r.logs_at + p.logs()}, wide, AttentionParameters(p, causal, scale));
  }
  Tensor out = part_of(packed, wide, {p.batch, p.heads, p.queries, p.e}, r.out_strides, 0);
  record_gradient(ops::Attention, out, {&q, &k, &v}, AttentionAttributes{scale, causal});
  Dims shape = batch;
  shape.push(p.queries);
  shape.push(p.e);
  return cast(shape == out.shape() ? out : reshape(out, shape), dtype);
}

Tensor attention_after(const Tensor& query, const Tensor& key, const Tensor& value, const Tensor& start, double scale) {
  check(query, key, value);
  const auto shapes = [&] { return query.shape().str() + ", " + key.shape().str() + " and " + value.shape().str(); };
  if (query.rank() != 4 || key.rank() != 4 || value.rank() != 4 || query.shape()[0] != key.shape()[0] ||
      key.shape()[0] != value.shape()[0] || key.shape()[1] != value.shape()[1] || key.shape()[1] == 0 ||
      query.shape()[1] % key.shape()[1])
    fail<ValueError>("attention", "query, key and value have shapes " + shapes(),
                     "use [batch, heads, rows, elements], where heads of the query are a multiple of the others'");
  if (start.dtype() != DType::int32 || start.shape() != Dims{query.shape()[0]})
    fail<ValueError>("attention",
                     std::string("start is ") + name_of(start.dtype()) + " of shape " + start.shape().str(),
                     "give one int32 for each of the batch");
  if (grad_enabled() && (query.requires_grad() || key.requires_grad() || value.requires_grad()))
    fail<ValueError>("attention", "queries that follow a cache have no gradient", "use no_grad()");
  const DType dtype = query.dtype(), wide = wide_of(dtype);
  const Tensor q0 = cast(query, wide), k0 = cast(key, wide), v0 = cast(value, wide);
  const Dims& shape = q0.shape();
  const int64_t group = shape[1] / k0.shape()[1];
  const auto fits = [](const Tensor& x) { return x.numel() > 0 && x.shape()[3] <= kMaxHead; };
  if (!fits(q0) || !fits(k0) || !fits(v0) || (q0.device().is_gpu() && wide != DType::float32)) {
    const Tensor groups = reshape(q0, {shape[0], k0.shape()[1], group, shape[2], shape[3]});
    const Tensor before = reshape(start, {shape[0], 1, 1, 1, 1});
    const Tensor weights = weights_of(groups, unsqueeze(k0, 2), scale, true, &before);
    return cast(reshape(matmul(weights, unsqueeze(v0, 2)), {shape[0], shape[1], shape[2], v0.shape()[3]}), dtype);
  }
  const auto in_order = [](const Tensor& x) {
    return x.strides()[3] == 1 || x.shape()[3] == 1 ? x.detach() : contiguous(x.detach());
  };
  const Tensor q = in_order(q0), k = in_order(k0), v = in_order(v0);
  const Problem p{q.shape()[0], q.shape()[1], q.shape()[2], k.shape()[2], q.shape()[3], v.shape()[3]};
  const Results r = results_of(p, q.strides());
  const Tensor packed = custom_kernel(ops::AttentionAfter, {q, k, v, contiguous(start)}, {r.logs_at + p.logs()}, wide,
                                      AttentionParameters(p, kCausal | kStarts | kFurther * (group - 1), scale));
  return cast(part_of(packed, wide, {p.batch, p.heads, p.queries, p.e}, r.out_strides, 0), dtype);
}

}  // namespace sg
