// Running sums, products and extremes along a dimension: custom kernels (shaders/scan.glsl on GPUs), which read
// the rows, one after the other, as one long list.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "base/error.hpp"
#include "base/round.hpp"
#include "math/alu.hpp"
#include "ops/index.hpp"
#include "ops/launch.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace {

enum class Scan { sum, product, logaddexp, maximum, minimum, linear };

constexpr bool is_extreme(Scan s) { return s == Scan::maximum || s == Scan::minimum; }

// ---- on the CPU --------------------------------------------------------------------------------------------------------
// What is scanned, and how two neighbours become one. Sums of float32 are kept in double.
template <Scan scan, class T>
struct Items {
  using Item = std::conditional_t<std::is_same_v<T, float> && (scan == Scan::sum || scan == Scan::product), double, T>;
  const T* x;
  T* out;
  explicit Items(const CpuArgs& args) : x(args.as<const T>(0)), out(args.as<T>(1)) {}
  Item load(int64_t at) const { return x[at]; }
  void store(int64_t at, int64_t, Item item) const { out[at] = static_cast<T>(item); }
  Item combine(Item a, Item b) const {
    if constexpr (scan == Scan::logaddexp) {
      const Item high = alu::maximum(a, b), low = alu::minimum(a, b);
      return high + alu::log1p(alu::exp(high == low ? Item(0) : low - high));
    } else if constexpr (std::is_integral_v<Item>) {
      const auto u = static_cast<uint64_t>(a), v = static_cast<uint64_t>(b);  // overflow wraps
      return static_cast<Item>(scan == Scan::sum ? u + v : u * v);
    } else {
      return scan == Scan::sum ? a + b : a * b;
    }
  }
};

template <Scan scan, class T>
  requires(is_extreme(scan))
struct Items<scan, T> {
  struct Item {
    T value;
    int64_t at;
  };
  const T* x;
  int64_t* out;
  explicit Items(const CpuArgs& args) : x(args.as<const T>(0)), out(args.as<int64_t>(1)) {}
  Item load(int64_t at) const { return {x[at], at}; }
  void store(int64_t at, int64_t row, Item item) const { out[at] = item.at - row; }
  Item combine(Item a, Item b) const {
    const bool stays = scan == Scan::maximum ? b.value < a.value : b.value > a.value;
    if (stays) [[likely]]
      return a;
    return b.value != b.value || a.value == a.value ? b : a;  // not a number: the last one
  }
};

template <class T>
struct Items<Scan::linear, T> {
  struct Item {
    T a, b;
  };
  const T *a, *b;
  T* out;
  explicit Items(const CpuArgs& args) : a(args.as<const T>(0)), b(args.as<const T>(1)), out(args.as<T>(2)) {}
  Item load(int64_t at) const { return {a[at], b[at]}; }
  void store(int64_t at, int64_t, Item item) const { out[at] = item.b; }
  Item combine(Item first, Item second) const { return {first.a * second.a, second.a * first.b + second.b}; }
};

constexpr int64_t kMostItemBytes = 16;
constexpr int64_t kCpuChunk = 32768;

template <Scan scan, class T, bool reverse>
void scan_one_way(const CpuArgs& args) {
  const int64_t length = args.words[0], row = args.words[1], chunk = args.words[2];
  const bool carried = args.words[3] != 0;
  const Items<scan, T> items(args);
  using Item = typename Items<scan, T>::Item;
  const auto place = [&](int64_t at) { return reverse ? length - 1 - at : at; };
  // From `begin` on, continuing from `carry` (nullptr: not needed). A sum restarts every kBlock elements and is added
  // to that of the blocks before, so the error grows with the number of blocks, not of elements. The sums of kTogether
  // blocks do not wait for each other.
  constexpr bool rounds = scan == Scan::sum && std::is_floating_point_v<T>;
  constexpr int64_t kBlock = rounds ? 64 : std::numeric_limits<int64_t>::max(), kTogether = 4;
  const auto walk = [&](int64_t begin, int64_t end, const Item* carry, auto&& each) {
    int64_t column = begin % row;
    bool behind = column != 0 && carry;
    Item base = behind ? *carry : Item{}, run{};
    for (int64_t at = begin; at < end; base = run, behind = column != 0) {
      const int64_t first = at, row_begin = at - column, left = std::min(end - at, row - column);
      if constexpr (rounds)
        if (left >= kTogether * kBlock) {
          Item sums[kTogether][kBlock], sum[kTogether];
#pragma GCC unroll 4
          for (int64_t j = 0; j < kTogether; ++j) sums[j][0] = sum[j] = items.load(place(at + j * kBlock));
          for (int64_t i = 1; i < kBlock; ++i)
#pragma GCC unroll 4
            for (int64_t j = 0; j < kTogether; ++j)
              sums[j][i] = sum[j] = items.combine(sum[j], items.load(place(at + j * kBlock + i)));
          for (const auto& block : sums) {
            const auto total = [&items, &block, base, behind](int64_t i) {
              return behind ? items.combine(base, block[i]) : block[i];
            };
            for (int64_t i = 0; i < kBlock; ++i) each(at + i, row_begin, total(i));
            base = run = total(kBlock - 1);
            behind = true, at += kBlock;
          }
          column = (column + kTogether * kBlock) % row;
          continue;
        }
      const int64_t stop = at + std::min(left, kBlock);
      const auto block = [&](auto total) {
        Item sum = items.load(place(at));
        for (;;) {
          each(at, row_begin, run = total(sum));
          if (++at == stop) return;
          sum = items.combine(sum, items.load(place(at)));
        }
      };
      if (behind)
        block([&](const Item& sum) { return items.combine(base, sum); });
      else
        block([](const Item& sum) { return sum; });
      column += stop - first;
      if (column == row) column = 0;
    }
    return run;
  };
  const int64_t chunks = divide_up(length, chunk);
  const auto end_of = [&](int64_t c) { return std::min(length, (c + 1) * chunk); };
  static_assert(sizeof(Item) <= kMostItemBytes);
  auto* totals = carried ? static_cast<Item*>(args.scratch(chunks * kMostItemBytes)) : nullptr;
  if (carried) {
    args.parallel(chunks, 1, [&](int64_t first, int64_t last) {
      for (int64_t c = first; c < last; ++c) {
        const int64_t end = end_of(c), begin = std::max(c * chunk, end - 1 - (end - 1) % row);
        totals[c] = walk(begin, end, nullptr, [](int64_t, int64_t, const Item&) {});
      }
    });
    for (int64_t c = 1; c < chunks; ++c) {
      const int64_t end = end_of(c);
      const bool begins = end - 1 - (end - 1) % row >= c * chunk;
      if (!begins) totals[c] = items.combine(totals[c - 1], totals[c]);
    }
  }
  args.parallel(chunks, 1, [&](int64_t first, int64_t last) {
    for (int64_t c = first; c < last; ++c)
      walk(c * chunk, end_of(c), carried && c ? &totals[c - 1] : nullptr,
           [&](int64_t at, int64_t begin, const Item& item) { items.store(place(at), begin, item); });
  });
}

template <Scan scan, class T>
void scan_on_cpu(const CpuArgs& args) {
  args.words[4] ? scan_one_way<scan, T, true>(args) : scan_one_way<scan, T, false>(args);
}

template <Scan scan>
auto cpu_function(DType t) -> void (*)(const CpuArgs&) {
  if (t == DType::float32) return scan_on_cpu<scan, float>;
  if (t == DType::float64) return scan_on_cpu<scan, double>;
  if constexpr (is_extreme(scan)) {
    if (t == DType::int32) return scan_on_cpu<scan, int32_t>;
  }
  if constexpr (scan != Scan::logaddexp && scan != Scan::linear) return scan_on_cpu<scan, int64_t>;
  return nullptr;
}

// ---- on a GPU ----------------------------------------------------------------------------------------------------------
constexpr const char* define_of(Scan s) {
  constexpr const char* names[] = {"SUM", "PRODUCT", "LOGADDEXP", "MAXIMUM", "MINIMUM", "LINEAR"};
  return names[static_cast<int>(s)];
}

std::string source(Scan scan, DType t, bool wide, int64_t items, int inputs, const char* phase) {
  const char *number = t == DType::float32   ? "float"
                       : t == DType::float64 ? "double"
                       : t == DType::int32   ? "int"
                                             : "int64",
             *ref = t == DType::float32   ? "Float32"
                    : t == DType::float64 ? "Float64"
                    : t == DType::int32   ? "Int32"
                                          : "Int64";
  return std::string("#define Number ") + number + "\n#define REF " + ref + "\n#define SIZE " +
         std::to_string(size_of(t)) + "\n#define ITEMS " + std::to_string(items) + "\n#define Position " +
         (wide ? "SignedOffset" : "int") + "\n#define INPUTS " + std::to_string(inputs) + "\n#define " +
         define_of(scan) + "\n#define " + phase + "\n" +
         (scan == Scan::logaddexp ? "#include \"alu.glsl\"\n#include \"alu_log.glsl\"\n" : "") +
         "#include \"scan.glsl\"\n";
}

constexpr int64_t kThreads = 256;
constexpr int64_t kMaxNarrow = int64_t{1} << 30;  // elements whose places, and those of a tile behind them, are ints
constexpr int64_t kManyRows = 1024;               // enough workgroups for any GPU, one a row

// Items of a thread: 64 bytes of them, or as many as shared memory holds beside two sums and two flags a thread.
int64_t items_of(int64_t bytes, const char* op, const Features& gpu) {
  const auto shared_bytes = [&](int64_t items) { return kThreads * ((items + 3) * bytes + 8); };
  int64_t items = std::min<int64_t>(64 / bytes, 16);
  while (items > 1 && shared_bytes(items) > gpu.shared_bytes) items /= 2;
  if (shared_bytes(items) > gpu.shared_bytes)
    fail<LimitError>(op,
                     "the device has " + std::to_string(gpu.shared_bytes) + " bytes of shared memory, this op needs " +
                         std::to_string(shared_bytes(items)),
                     "use the CPU device");
  return items;
}

struct ScanParameters {
  int64_t row;  // elements of one
  int64_t reverse;
};

template <Scan scan>
void expand_scan(const Node& node, bool gpu, Expansion& e) {
  const DType t = node.in[0].dtype;
  const int inputs = node.inputs;
  const auto [row, reverse] = node.parameters.as<ScanParameters>();
  const int64_t length = node.numel, rows = length / row;
  // Bytes of an item in shared memory; an extreme is stored with its place.
  const int64_t bytes = is_extreme(scan) ? 16 : static_cast<int64_t>(size_of(t)) * (scan == Scan::linear ? 2 : 1);
  const int64_t items = gpu ? items_of(bytes, node.op->name, *e.gpu) : 0, tile = gpu ? kThreads * items : kCpuChunk;
  const bool fits = row <= tile, many = rows >= (gpu ? kManyRows : 16);
  const bool carried = !fits && !many;
  const int64_t chunk = fits ? tile / row * row : many ? row : tile, chunks = divide_up(length, chunk);
  std::vector<CustomKernel::Tensor> tensors;
  for (int i = 0; i < inputs; ++i) tensors.push_back({i, t});
  tensors.push_back({e.result(), node.dtype, true});
  const std::vector<int64_t> words = {length, row, chunk, carried, reverse, chunks};
  const std::string name = node.op->name;
  const DType total = is_extreme(scan) ? DType::int64 : t;
  const int64_t total_bytes = static_cast<int64_t>(size_of(total)) * (scan == Scan::linear ? 2 : 1);
  const int32_t totals = gpu && carried ? e.temporary(chunks * total_bytes) : -1;
  const auto launch = [&](const char* suffix, const char* phase, int64_t groups, double cost) -> CustomKernel& {
    CustomKernel& custom = e.launch(name + suffix);
    custom.tensors = tensors;
    custom.words = words;
    custom.source = source(scan, t, length > kMaxNarrow, items, inputs, phase);
    custom.cost = cost;
    custom.threads = kThreads;
    set_groups(custom, groups);
    return custom;
  };
  if (totals >= 0) {
    CustomKernel& first = launch("_totals", "TOTALS", chunks, static_cast<double>(length));
    first.tensors[static_cast<size_t>(inputs)] = {totals, total, true};  // RESULT is not used
    first.tensors.push_back({totals, total, true});
    CustomKernel& second = launch("_carries", "CARRIES", 1, static_cast<double>(chunks));
    second.tensors[static_cast<size_t>(inputs)] = {totals, total, false};
    second.tensors.push_back({totals, total, true});
    tensors.push_back({totals, total, false});
  }
  CustomKernel& last = launch("", totals >= 0 ? "CHUNKS" : "ROWS", chunks, static_cast<double>(length));
  last.cpu = cpu_function<scan>(t);
  last.scratch = carried ? chunks * kMostItemBytes : 0;
}

// ---- gradients ---------------------------------------------------------------------------------------------------------
constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct ScanAttributes {
  bool reverse;
};

// Along the last dimension of a contiguous x; from its end with `reverse`.
Tensor scan(const OpInfo& op, std::initializer_list<Tensor> inputs, DType dtype, bool reverse = false) {
  const Tensor& x = *inputs.begin();
  return custom_kernel(op, inputs, x.shape(), dtype, ScanParameters{x.shape()[x.rank() - 1], reverse},
                       ScanAttributes{reverse});
}

// y[i] = a[i] * y[i - 1] + b[i]
Tensor linear_scan(const Tensor& a, const Tensor& b, bool reverse) {
  return scan(ops::LinearScan, {contiguous(a), contiguous(b)}, a.dtype(), reverse);
}

// x[..., i - by] for by = 1 or -1; `fill` where there is none.
Tensor shifted(const Tensor& x, int by, double fill) {
  const int last = x.rank() - 1;
  const int64_t n = x.shape()[last];
  return embed(slice(x, last, by > 0 ? 0 : 1, n - 1, 1), x.shape(), contiguous_strides(x.shape()), by > 0 ? 1 : 0,
               fill);
}

void vjp_cumsum(Vjp& v) {
  v.result[0] = scan(ops::CumSum, {contiguous(v.g)}, v.g.dtype(), !v.attributes<ScanAttributes>().reverse);
}

// The product before i, times the sum over j >= i of g[j] times the product between i and j. Without a division, so
// zeros are no exception, also in gradients of gradients.
void vjp_cumprod(Vjp& v) {
  const Tensor after = linear_scan(shifted(v.in(0), -1, 0), v.g, true);
  v.result[0] = shifted(v.out(), 1, 1) * after;
}

void vjp_linear(Vjp& v) {
  const bool reverse = v.attributes<ScanAttributes>().reverse;
  const Tensor g = linear_scan(shifted(v.in(0), reverse ? 1 : -1, 0), v.g, !reverse);
  if (v.needs(0)) v.result[0] = g * shifted(v.out(), reverse ? -1 : 1, 0);
  if (v.needs(1)) v.result[1] = g;
}

// The sum over j >= i of g[j] * exp(x[i] - y[j]), by factors exp(y[j] - y[j + 1]), which are at most 1.
void vjp_logcumsumexp(Vjp& v) {
  const Tensor x = v.in(0), y = v.out(), infinite = abs(y) == Tensor(kInfinity);
  const Tensor factor = exp(where(infinite, 0, y - shifted(y, -1, kInfinity)));
  v.result[0] = exp(where(infinite, -kInfinity, x - y)) * linear_scan(factor, v.g, true);
}

template <Scan kind>
constexpr OpInfo scan_row(const char* name, const char* doc, int arity, uint8_t saves, void (*vjp)(Vjp&)) {
  return {.name = name,
          .doc = doc,
          .kind = Kind::kernel,
          .arity = arity,
          .saves = saves,
          .vjp = vjp,
          .expand = expand_scan<kind>,
          .repeats = true};
}

}  // namespace

namespace ops {
const OpInfo CumSum = scan_row<Scan::sum>("cumsum", "Running sums.", 1, kSavesNothing, vjp_cumsum);
const OpInfo CumProd = scan_row<Scan::product>("cumprod", "Running products.", 1, kSavesA | kSavesOutput, vjp_cumprod);
const OpInfo LogCumSumExp = scan_row<Scan::logaddexp>("logcumsumexp", "Logarithms of running sums of exponentials.", 1,
                                                      kSavesA | kSavesOutput, vjp_logcumsumexp);
const OpInfo CumMax = scan_row<Scan::maximum>("cummax", "Where the largest so far is.", 1, kSavesNothing, nullptr);
const OpInfo CumMin = scan_row<Scan::minimum>("cummin", "Where the smallest so far is.", 1, kSavesNothing, nullptr);
const OpInfo LinearScan =
    scan_row<Scan::linear>("linear_scan", "y[i] = a[i] * y[i - 1] + b[i].", 2, kSavesA | kSavesOutput, vjp_linear);
}  // namespace ops

namespace {

// x with `dim` last and contiguous, what scans it, and back.
template <class F>
Tensor along(const char* op, const Tensor& x, int64_t dim, F scanned) {
  if (x.rank() == 0) return reshape(along(op, reshape(x, {1}), dim, scanned), {});
  const int d = normal_axis(op, dim, x.rank());
  if (x.numel() == 0) return scanned(x);
  return move_dim(scanned(contiguous(move_dim(x, d, x.rank() - 1))), x.rank() - 1, d);
}

// The type in which numbers are added up: the given one, or int64 for integers.
Tensor accumulated(const OpInfo& op, const Tensor& x0, int64_t dim, std::optional<DType> dtype) {
  const DType type = dtype ? *dtype : is_float(x0.dtype()) ? x0.dtype() : DType::int64;
  const DType wide = is_float(type) ? wide_of(type) : DType::int64;
  return along(op.name, cast(x0, type), dim, [&](const Tensor& x) {
    return x.numel() == 0 ? clone(x) : cast(scan(op, {contiguous(cast(x, wide))}, wide), type);
  });
}

TensorPair extremes(const OpInfo& op, const Tensor& x, int64_t dim) {
  const Tensor at = along(op.name, x.detach(), dim, [&](const Tensor& v) {
    const DType wide = v.dtype() == DType::boolean ? DType::int32 : wide_of(v.dtype());
    return v.numel() == 0 ? cast(v, DType::int64) : scan(op, {contiguous(cast(v, wide))}, DType::int64);
  });
  return {gather(x, dim, at), at};
}

}  // namespace

Tensor cumsum(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  return accumulated(ops::CumSum, x, dim, dtype);
}
Tensor cumprod(const Tensor& x, int64_t dim, std::optional<DType> dtype) {
  return accumulated(ops::CumProd, x, dim, dtype);
}
Tensor logcumsumexp(const Tensor& x, int64_t dim) {
  return accumulated(ops::LogCumSumExp, cast(x, with_fractions(x.dtype())), dim, {});
}
TensorPair cummax(const Tensor& x, int64_t dim) { return extremes(ops::CumMax, x, dim); }
TensorPair cummin(const Tensor& x, int64_t dim) { return extremes(ops::CumMin, x, dim); }

}  // namespace sg
