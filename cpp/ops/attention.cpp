// Attention without a matrix of queries by keys in memory, and the same for queries that follow a cache. Forward, each
// block of queries walks the keys; backward, the weights are computed again from the logarithms of their sums (Dao,
// FlashAttention-2, 2023). CPUs: attention_cpu.cpp; GPUs: attention_gpu.cpp and shaders/attention.glsl. Gradients of
// gradients, and shapes that no kernel fits, use ordinary ops.
#include "ops/attention.hpp"

#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "base/round.hpp"
#include "ops/launch.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace {

using namespace attention_op;

constexpr int64_t kMaxHead = 256;               // elements of a query, key or value that a kernel takes
constexpr int64_t kMaxStep = int64_t{1} << 29;  // elements from row to row that a kernel takes

// What a call has besides queries, keys and values. Absent ones are undefined.
struct Options {
  Tensor starts{};  // int32 [batch]: how many keys come before the first query
  Tensor mask{};    // bool or of the type of the query: [batch, heads, queries, keys]
  Tensor seed{};    // int64 [1]: of dropout
  double scale = 1;
  bool causal = false;
  int64_t threshold = 0;  // 65,536ths of the weights that dropout takes away
  int64_t flags() const {
    int64_t all = threshold * kThreshold;
    if (causal) all |= kCausal;
    if (starts) all |= kStarts;
    if (mask) all |= kMasked;
    if (seed) all |= kDropout;
    return all;
  }
  void add_to(std::vector<Tensor>& inputs) const {
    for (const Tensor* x : {&starts, &mask, &seed})
      if (*x) inputs.push_back(*x);
  }
};

// A new tensor is laid out like another: heads inside rows, as after a split of one projection, or outside.
Dims strides_like(const Dims& other, const Dims& shape) {
  if (other[1] >= other[2]) return contiguous_strides(shape);
  return {shape[1] * shape[2] * shape[3], shape[3], shape[1] * shape[3], 1};
}

// Those of the node's operand.
Dims strides_of(const Tensor& x) { return x.contiguous() ? contiguous_strides(x.shape()) : x.strides(); }

// As a kernel reads it: elements side by side, rows at a step that fits. Halves in eights, as matrix units load them.
Tensor in_order(const Tensor& x) {
  const Dims& s = x.strides();
  if ((s[3] != 1 && x.shape()[3] != 1) || s[2] < 0 || s[2] >= kMaxStep) return contiguous(x);
  const bool eights = size_of(x.dtype()) == 2 && x.shape()[3] % 8 == 0;
  return eights && (s[0] | s[1] | s[2] | x->offset) % 8 ? clone(x) : x;
}

std::vector<int64_t> words_of(const Problem& p, const Node& node, int options, std::initializer_list<Dims> strides) {
  const AttentionParameters a = parameters_of(node);
  const auto bits = [&](double x) {
    return node.dtype == DType::float64 ? std::bit_cast<int64_t>(x)
                                        : static_cast<int64_t>(std::bit_cast<uint32_t>(static_cast<float>(x)));
  };
  std::vector<int64_t> words = {p.batch,  p.heads,       p.queries,           p.keys,
                                p.d,      p.e,           a.flags & 0xff,      bits(a.scale()),
                                p.serves, a.threshold(), bits(a.keep_scale())};
  words.resize(kStrides);
  if (a.has(kMasked)) {
    const Operand& mask = node.in[options + (a.has(kStarts) ? 1 : 0)];
    words[kMask] = mask.dtype == DType::boolean;
    for (int d = 0; d < 4; ++d) words[kMask + 1 + d] = mask.strides[d];
  }
  for (const Dims& s : strides) words.insert(words.end(), {s[0], s[1], s[2]});
  return words;
}

// The inputs from `first` on are options.
void add_options(const Node& node, int first, CustomKernel& custom) {
  for (int i = first; i < node.inputs; ++i) custom.tensors.push_back({i, node.in[i].dtype});
}

// ---- launches --------------------------------------------------------------------------------------------------------------
// Where each result begins in the memory that they share, and how it is laid out.
struct Results {
  Dims out_strides;
  int64_t logs_at, numel;  // in logarithms, in elements
};
Results results_of(const Problem& p, const Dims& like, DType dtype) {
  const Dims shape = {p.batch, p.heads, p.queries, p.e};
  const auto each = static_cast<int64_t>(size_of(wide_of(dtype)) / size_of(dtype));  // elements for a logarithm
  const int64_t logs_at = divide_up(shape.numel(), each);
  return {strides_like(like, shape), logs_at, each * (logs_at + p.logs())};
}

struct Gradients {
  Dims shape[3], strides[3];
  int64_t at[3], numel;
};
// Whether queries, keys and values have the strides of thirds of one tensor [batch, row, third, head, element].
bool are_thirds(const Problem& p, const Dims& q, const Dims& k, const Dims& v) {
  const int64_t third = p.heads * p.d;
  return q == k && q == v && p.serves == 1 && p.queries == p.keys && p.d == p.e && third % 8 == 0 && q[3] == 1 &&
         q[1] == p.d && q[2] == 3 * third && q[0] == q[2] * p.queries;
}
// Those of thirds lie as the thirds do, so that nobody has to put them together.
Gradients gradients_of(const Problem& p, const Dims& q, const Dims& k, const Dims& v, int64_t flags) {
  Gradients g{
      {{p.batch, p.heads, p.queries, p.d}, {p.batch, p.sources(), p.keys, p.d}, {p.batch, p.sources(), p.keys, p.e}},
      {},
      {},
      0};
  const Dims* like[] = {&q, &k, &v};
  const int64_t all = kWantsQuery | kWantsKey | kWantsValue;
  if ((flags & all) == all && are_thirds(p, q, k, v)) {
    for (int i = 0; i < 3; ++i) g.strides[i] = q, g.at[i] = i * p.heads * p.d;
    g.numel = 3 * g.shape[0].numel();
    return g;
  }
  for (int i = 0; i < 3; ++i) {
    g.strides[i] = strides_like(*like[i], g.shape[i]);
    g.at[i] = g.numel;
    if (flags & (kWantsQuery << i)) g.numel += g.shape[i].numel();
  }
  return g;
}

// A few queries walk the keys in parts. Heads that share keys become rows, so that each key is read once.
void expand_parts(const Node& node, const Problem& p0, const Results& r, Expansion& e) {
  const AttentionParameters a = parameters_of(node);
  const bool alike = p0.queries == 1 && !a.has(kMasked | kDropout);
  Problem p = p0;
  Dims q = node.in[0].strides, out = r.out_strides;
  if (alike) {
    p = {p0.batch, p0.sources(), p0.serves, p0.keys, p0.d, p0.e};
    q = {q[0], q[1] * p0.serves, q[1]};
    out = {out[0], out[1] * p0.serves, out[1]};
  }
  const int64_t part = part_of_keys(p), parts = divide_up(p.keys, part);
  const DType t = node.dtype;
  const int32_t sums = e.temporary(4 * p.logs() * parts * p.e), numbers = e.temporary(8 * p.logs() * parts);
  CustomKernel& walk = e.launch(node.op->name + std::string("_parts"));
  walk.tensors = {{0, t}, {1, t}, {2, t}, {sums, DType::float32, true}, {numbers, DType::float32, true}};
  add_options(node, 3, walk);
  walk.words = words_of(p, node, 3, {q, node.in[1].strides, node.in[2].strides});
  if (alike) walk.words[kFlags] |= kAlike;
  walk.cost = 2.0 * static_cast<double>(p.pairs(false) * (p.d + p.e));
  launch_on_gpu(node, p, walk, "FORWARD", *e.gpu, part);
  CustomKernel& join = e.launch(node.op->name);
  join.tensors = {{sums, DType::float32},
                  {numbers, DType::float32},
                  {e.result(), t, true},
                  {e.result(), DType::float32, true, r.logs_at}};
  join_on_gpu(t, p, part, out, *e.gpu, join);
}

// The launch that finds powers of two for the inputs of a float32 attention on matrix units; the memory of those.
int32_t expand_powers(const Node& node, const Problem& p, std::initializer_list<int32_t> inputs,
                      const std::vector<int64_t>& words, Expansion& e) {
  const bool gradient = inputs.size() == 4;
  const int32_t powers = e.temporary(4 * powers_of(p, gradient));
  CustomKernel& custom = e.launch(node.op->name + std::string("_powers"));
  for (const int32_t i : inputs) custom.tensors.push_back({i, DType::float32});
  custom.tensors.push_back({powers, DType::float32, true});
  custom.words = words;
  powers_on_gpu(p, gradient, *e.gpu, custom);
  return powers;
}
const char* suffix_of(Heads which) {
  return which == Heads::split ? "_split" : which == Heads::others ? "_others" : "";
}

void expand_forward(const Node& node, bool gpu, Expansion& e) {
  const Problem p = problem_of(node);
  const DType t = node.dtype, wide = wide_of(t);
  const Results r = results_of(p, node.in[0].strides, t);
  if (gpu && part_of_keys(p)) return expand_parts(node, p, r, e);
  const std::vector<int64_t> words =
      words_of(p, node, 3, {node.in[0].strides, node.in[1].strides, node.in[2].strides, r.out_strides});
  const auto launch = [&](const std::string& suffix) -> CustomKernel& {
    CustomKernel& custom = e.launch(node.op->name + suffix);
    custom.tensors = {{0, t}, {1, t}, {2, t}, {e.result(), t, true}, {e.result(), wide, true, r.logs_at}};
    add_options(node, 3, custom);
    custom.words = words;
    custom.cost = 2.0 * static_cast<double>(p.pairs(parameters_of(node).has(kCausal)) * (p.d + p.e));
    return custom;
  };
  if (!gpu) return forward_on_cpu(node, launch(""));
  if (!splits_on_gpu(node, p, *e.gpu)) return launch_on_gpu(node, p, launch(""), "FORWARD", *e.gpu);
  const int32_t powers = expand_powers(node, p, {0, 1, 2}, words, e);
  for (const Heads which : {Heads::split, Heads::others}) {
    CustomKernel& custom = launch(suffix_of(which));
    custom.tensors.push_back({powers, DType::float32});
    launch_on_gpu(node, p, custom, "FORWARD", *e.gpu, 0, which);
  }
}

// Inputs: query, key, value, the gradient of the result, logarithms of sums, of each query the product of its result
// with that gradient, and options.
void expand_backward(const Node& node, bool gpu, Expansion& e) {
  const Problem p = problem_of(node);
  const Dims &q = node.in[0].strides, &k = node.in[1].strides, &v = node.in[2].strides;
  const AttentionParameters a = parameters_of(node);
  const Gradients g = gradients_of(p, q, k, v, a.flags);
  const DType t = node.dtype, wide = wide_of(t);
  const std::vector<int64_t> words =
      words_of(p, node, 6, {q, k, v, node.in[3].strides, g.strides[0], g.strides[1], g.strides[2]});
  const auto launch = [&](const std::string& suffix, int64_t wants, int64_t products_d,
                          int64_t products_e) -> CustomKernel& {
    CustomKernel& custom = e.launch(node.op->name + suffix);
    for (int i = 0; i < 6; ++i) custom.tensors.push_back({i, i < 4 ? t : wide});
    for (int i = 0; i < 3; ++i) custom.tensors.push_back({e.result(), t, true, g.at[i]});
    add_options(node, 6, custom);
    custom.words = words;
    custom.words[kFlags] &= ~(kWantsQuery | kWantsKey | kWantsValue) | wants;
    custom.cost = 2.0 * static_cast<double>(p.pairs(a.has(kCausal)) * (products_d * p.d + products_e * p.e));
    return custom;
  };
  const int64_t wanted = a.flags & (kWantsQuery | kWantsKey | kWantsValue);
  if (!gpu) return backward_on_cpu(node, launch("", wanted, 3, 2));
  const bool splits = splits_on_gpu(node, p, *e.gpu);
  const int32_t powers = splits ? expand_powers(node, p, {0, 1, 2, 3}, words, e) : 0;
  const auto launches = [&](const std::string& suffix, const char* phase, Heads which, int64_t wants,
                            int64_t products_d, int64_t products_e) {
    if (!wants) return;
    CustomKernel& custom = launch(suffix + suffix_of(which), wants, products_d, products_e);
    if (splits) custom.tensors.push_back({powers, DType::float32});
    launch_on_gpu(node, p, custom, phase, *e.gpu, 0, which);
  };
  const int64_t wants_key = wanted & kWantsKey, wants_value = wanted & kWantsValue;
  for (const Heads which : splits ? std::vector{Heads::split, Heads::others} : std::vector{Heads::all}) {
    launches("_query", "QUERIES", which, wanted & kWantsQuery, 2, 1);
    if (which == Heads::split && keys_apart(p)) {
      launches("_key", "KEYS", which, wants_key, 2, 1);
      launches("_value", "KEYS", which, wants_value, 1, 1);
    } else {
      launches("_key", "KEYS", which, wants_key | wants_value, 2, 2);
    }
  }
}

// ---- which weights dropout keeps, as a tensor: for ordinary ops -----------------------------------------------------------
struct KeptParameters {
  int64_t heads, queries, keys;
  int64_t batch_and_threshold;
  KeptParameters() = default;
  KeptParameters(const Dims& shape, int64_t threshold)
      : heads(shape[1]), queries(shape[2]), keys(shape[3]), batch_and_threshold(shape[0] << 16 | threshold) {}
};

void expand_kept(const Node& node, bool gpu, Expansion& e) {
  const auto a = node.parameters.as<KeptParameters>();
  CustomKernel& custom = e.launch(node.op->name);
  custom.tensors = {{0, DType::int64}, {e.result(), DType::boolean, true}};
  custom.words = {a.batch_and_threshold >> 16, a.heads, a.queries, a.keys, a.batch_and_threshold & 0xffff};
  custom.cost = static_cast<double>(node.numel);
  custom.cpu = kept_on_cpu;
  if (!gpu) return;
  custom.source = "#include \"attention_kept.glsl\"\n";
  set_threads(custom, a.heads * a.queries * (a.batch_and_threshold >> 16) * divide_up(a.keys, 32), *e.gpu);
}

// ---- attention from ordinary ops ----------------------------------------------------------------------------------------
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr uint32_t kLast = 1u << 3;  // the elements of [batch, heads, rows, elements]

Tensor transposed(const Tensor& x) { return transpose(x, -2, -1); }

Tensor widened(const Tensor& x) { return cast(x, wide_of(x.dtype())); }

// Heads of keys or values, each as often as it serves heads of queries; and the sum of gradients that arrive there.
Tensor for_each_head(const Tensor& x, int64_t serves) {
  if (serves <= 1) return x;
  const Dims& s = x.shape();
  return reshape(expand(unsqueeze(x, 2), {s[0], s[1], serves, s[2], s[3]}), {s[0], s[1] * serves, s[2], s[3]});
}
Tensor over_heads(const Tensor& g, int64_t serves) {
  if (serves <= 1) return g;
  const Dims& s = g.shape();
  return sum(reshape(g, {s[0], s[1] / serves, serves, s[2], s[3]}), 1u << 2);
}

// softmax of scores: keys have a head for each of the queries'.
Tensor weights_of(const Tensor& q, const Tensor& k, const Options& o) {
  Tensor scores = matmul(q, transposed(k)) * o.scale;
  const Dims& shape = scores.shape();
  if (o.causal) {
    const int last = scores.rank() - 1;
    Tensor last_key = positions(shape, last - 1, q.device());
    if (o.starts) last_key = last_key + reshape(o.starts, {o.starts.shape()[0], 1, 1, 1});
    scores = where(positions(shape, last, q.device()) <= last_key, scores, -kInfinity);
  }
  if (!o.mask) return softmax(scores, -1);
  scores = o.mask.dtype() == DType::boolean ? where(o.mask, scores, -kInfinity) : scores + o.mask;
  const Tensor nothing = amax(scores, kLast, true) == -kInfinity;
  return where(nothing, 0.0, softmax(where(nothing, 0.0, scores), -1));
}

// What dropout leaves of weights [batch, heads, queries, keys], or of their gradients.
Tensor kept_of(const Tensor& weights, const Options& o) {
  if (!o.seed) return weights;
  const Dims& s = weights.shape();
  const Tensor kept = custom_kernel(ops::AttentionKept, {o.seed}, s, DType::boolean, KeptParameters(s, o.threshold));
  return where(kept, weights * (65536.0 / static_cast<double>(65536 - o.threshold)), 0.0);
}

// Heads of queries for one of keys.
int64_t serves_of(const Tensor& q, const Tensor& k) { return q.shape()[1] / std::max<int64_t>(1, k.shape()[1]); }

Tensor formula(const Tensor& q, const Tensor& k, const Tensor& v, const Options& o) {
  const int64_t serves = serves_of(q, k);
  const Tensor weights = weights_of(widened(q), for_each_head(widened(k), serves), o);
  return cast(matmul(kept_of(weights, o), for_each_head(widened(v), serves)), q.dtype());
}

// ---- gradients -----------------------------------------------------------------------------------------------------------
struct AttentionAttributes {
  double scale;
  bool causal, masked, dropout;
  int64_t threshold;
};

Problem problem_of(const Tensor& q, const Tensor& k, const Tensor& v) {
  return {q.shape()[0], q.shape()[1], q.shape()[2], k.shape()[2], q.shape()[3], v.shape()[3], serves_of(q, k)};
}

void vjp_attention(Vjp& v) {
  const Tensor q = v.in(0), k = v.in(1), value = v.in(2);
  const auto a = v.attributes<AttentionAttributes>();
  Options o{.scale = a.scale, .causal = a.causal, .threshold = a.threshold};
  if (a.masked) o.mask = v.in(3);
  if (a.dropout) o.seed = v.in(a.masked ? 4 : 3);
  const Problem p = problem_of(q, k, value);
  if (grad_enabled()) {  // to be differentiated again
    const Tensor wide_q = widened(q), g = widened(v.g), keys = for_each_head(widened(k), p.serves),
                 values = for_each_head(widened(value), p.serves);
    const Tensor weights = weights_of(wide_q, keys, o);
    const Tensor slopes = kept_of(matmul(g, transposed(values)), o);
    const Tensor d = weights * (slopes - sum(slopes * weights, kLast, true)) * a.scale;
    if (v.needs(0)) v.result[0] = cast(matmul(d, keys), q.dtype());
    if (v.needs(1)) v.result[1] = cast(over_heads(matmul(transposed(d), wide_q), p.serves), q.dtype());
    if (v.needs(2)) v.result[2] = cast(over_heads(matmul(transposed(kept_of(weights, o)), g), p.serves), q.dtype());
    return;
  }
  int64_t flags = o.flags();
  for (int i = 0; i < 3; ++i) flags |= v.needs(i) ? kWantsQuery << i : 0;
  const Results r = results_of(p, q.strides(), q.dtype());
  const Tensor kept = wrap(v.node.output.value(v.node.op->name, v.node.location), {r.numel});
  const Dims rows = {p.batch, p.heads, p.queries};
  const Tensor out = part_of(kept, q.dtype(), v.g.shape(), r.out_strides, 0);
  const Tensor logs = part_of(kept, wide_of(q.dtype()), rows, contiguous_strides(rows), r.logs_at);
  const Tensor g = in_order(v.g);
  const Gradients to = gradients_of(p, strides_of(q), strides_of(k), strides_of(value), flags);
  std::vector<Tensor> inputs = {q, k, value, g, logs, contiguous(sum(widened(g) * widened(out), kLast))};
  o.add_to(inputs);
  const Tensor packed =
      custom_kernel(ops::AttentionGradient, inputs, {to.numel}, q.dtype(), AttentionParameters(p, flags, a.scale));
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
// it. Of keys and values that serve several heads, `heads` is not the last of `batch`.
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
  return in_order(x);
}

// A mask as it broadcasts to [batch, heads, queries, keys]: a view, with stride 0 where it is repeated.
Tensor mask_of(const Tensor& mask0, const Dims& batch, const Problem& p, DType wide) {
  const Tensor mask = mask0.dtype() == DType::boolean ? mask0 : cast(mask0, wide);
  Dims shape = batch;
  shape.push(p.queries);
  shape.push(p.keys);
  const int missing = shape.rank - mask.rank();
  bool fits = missing >= 0;
  for (int i = 0; fits && i < mask.rank(); ++i) fits = mask.shape()[i] == 1 || mask.shape()[i] == shape[i + missing];
  if (!fits)
    fail<ValueError>("attention", "the mask has shape " + mask.shape().str(),
                     "use one that broadcasts to " + shape.str());
  const Tensor full = mask.shape() == shape ? mask : expand(mask, shape);
  return full.rank() == 4 ? full : reshape(full, {p.batch, p.heads, p.queries, p.keys});
}

Tensor plain(const Tensor& q, const Tensor& k, const Tensor& v, const Options& o, const OpInfo& op) {
  const Problem p = problem_of(q, k, v);
  std::vector<Tensor> inputs = {q, k, v};
  o.add_to(inputs);
  const GradMode off(false);
  return custom_kernel(op, inputs, {results_of(p, q.strides(), q.dtype()).numel}, q.dtype(),
                       AttentionParameters(p, o.flags(), o.scale));
}

// The type in which a kernel gets its tensors: GPUs read halves as they are.
DType kernel_type(const Tensor& x) { return x.device().is_gpu() ? x.dtype() : wide_of(x.dtype()); }

bool has_kernel(const Tensor& q, const Tensor& k, const Tensor& v) {
  const auto fits = [](const Tensor& x) { return x.numel() > 0 && x.shape()[x.rank() - 1] <= kMaxHead; };
  if (!fits(q) || !fits(k) || !fits(v)) return false;
  return !q.device().is_gpu() || q.dtype() != DType::float64;
}

}  // namespace

namespace ops {
const OpInfo Attention{.name = "attention",
                       .doc = "softmax(scale * query @ key^T) @ value, block by block.",
                       .kind = Kind::kernel,
                       .arity = 3,
                       .saves = kSavesA | kSavesB | kSavesC | kSavesRest | kSavesOutput,
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
const OpInfo AttentionKept{.name = "attention_kept",
                           .doc = "Which weights the dropout of attention keeps.",
                           .kind = Kind::kernel,
                           .arity = 1,
                           .expand = expand_kept};
}  // namespace ops

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, double scale, bool causal,
                 const std::optional<Tensor>& mask, double dropout, Generator& from) {
  check(query, key, value);
  if (!(dropout >= 0 && dropout < 1))
    fail<ValueError>("attention", "dropout is " + std::to_string(dropout), "use a probability below 1");
  const DType dtype = query.dtype(), inside = kernel_type(query);
  const auto heads_of = [](const Tensor& x) { return x.rank() > 2 ? x.shape()[x.rank() - 3] : 1; };
  const int64_t heads = heads_of(query), sources = heads_of(key);
  const bool groups = sources > 1 && sources < heads && heads % sources == 0 && heads_of(value) == sources;
  // Leading dimensions of queries, and of keys and values, which may have fewer heads.
  const auto without_head = [&](Dims d) {
    if (groups) d[d.rank - 1] = 1;
    return d;
  };
  Dims batch = broadcast_shapes("attention", broadcast_shapes("attention", leading(query), without_head(leading(key))),
                                without_head(leading(value)));
  Dims shared = batch;
  if (groups) shared[batch.rank - 1] = sources;
  const Tensor q = as_heads(cast(query, inside), batch), k = as_heads(cast(key, inside), shared),
               v = as_heads(cast(value, inside), shared);
  const Problem p = problem_of(q, k, v);
  Options o{.scale = scale, .causal = causal, .threshold = std::lround(dropout * 65536)};
  if (mask) o.mask = mask_of(*mask, batch, p, wide_of(dtype));
  if (dropout > 0) {
    o.threshold = std::clamp<int64_t>(o.threshold, 1, 65535);
    o.seed = random_bits({1}, q.device(), from);
  }
  Dims shape = batch;
  shape.push(p.queries);
  shape.push(p.e);
  const auto finished = [&](const Tensor& out) {
    return cast(shape == out.shape() ? out : reshape(out, shape), dtype);
  };
  if (!has_kernel(q, k, v) || (o.mask && o.mask.requires_grad())) return finished(formula(q, k, v, o));
  const Tensor packed = plain(q, k, v, o, ops::Attention);
  Tensor out =
      part_of(packed, inside, {p.batch, p.heads, p.queries, p.e}, results_of(p, q.strides(), q.dtype()).out_strides, 0);
  const Tensor* inputs[5] = {&q, &k, &v};
  size_t count = 3;
  for (const Tensor* x : {&o.mask, &o.seed})
    if (*x) inputs[count++] = x;
  record_gradient(
      ops::Attention, out, {inputs, count},
      AttentionAttributes{scale, causal, static_cast<bool>(o.mask), static_cast<bool>(o.seed), o.threshold});
  return finished(out);
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
  const DType dtype = query.dtype(), inside = kernel_type(query);
  const auto prepared = [&](const Tensor& x) { return in_order(cast(x.detach(), inside)); };
  const Tensor q = prepared(query), k = prepared(key), v = prepared(value);
  const Options o{.starts = contiguous(start), .scale = scale, .causal = true};
  if (!has_kernel(q, k, v)) return cast(formula(q, k, v, o), dtype);
  const Tensor packed = plain(q, k, v, o, ops::AttentionAfter);
  const Problem p = problem_of(q, k, v);
  return cast(
      part_of(packed, inside, {p.batch, p.heads, p.queries, p.e}, results_of(p, q.strides(), q.dtype()).out_strides, 0),
      dtype);
}

}  // namespace sg
