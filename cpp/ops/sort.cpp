// Sorting, and what is made of it.
#include <algorithm>
#include <numeric>

#include "base/error.hpp"
#include "ops/index.hpp"
#include "ops/list.hpp"
#include "ops/rows.hpp"

namespace sg {
namespace {

template <class T>
bool before(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return a < b || (b != b && a == a);
  return a < b;
}

template <class T>
void order_on_cpu(const CpuArgs& args) {
  const int64_t rows = args.words[0], n = args.words[1];
  const bool descending = args.words[2] != 0;
  args.parallel(rows, std::max<int64_t>(1, 4096 / std::max<int64_t>(n, 1)), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      const T* x = args.as<const T>(0) + r * n;
      int32_t* order = args.as<int32_t>(1) + r * n;
      std::iota(order, order + n, 0);
      std::stable_sort(order, order + n,
                       [&](int32_t a, int32_t b) { return descending ? before(x[b], x[a]) : before(x[a], x[b]); });
    }
  });
}

void expand_order(const Node& node, bool gpu, Expansion& e) {
  if (gpu) fail<LimitError>("sort", "there is no GPU kernel yet", "sort on the CPU");
  const DType t = node.in[0].dtype;
  Own& own = e.launch("sort");
  own.tensors = {{0, t}, {e.result(), DType::int32, true}};
  own.words = {node.extra[0], node.extra[1], node.extra[2]};
  own.cpu = t == DType::float32   ? order_on_cpu<float>
            : t == DType::float64 ? order_on_cpu<double>
            : t == DType::int32   ? order_on_cpu<int32_t>
                                  : order_on_cpu<int64_t>;
}

}  // namespace

namespace rows {
const OpInfo Order{
    .name = "sort", .doc = "The stable order of each row.", .kind = Kind::kernel, .arity = 1, .expand = expand_order};
}

Tensor sort_order(const Tensor& x0, bool descending) {
  DType type = wide_of(x0.dtype());
  if (type == DType::boolean) type = DType::int32;
  const Tensor x = contiguous(cast(x0.detach(), type));
  const int64_t n = x.rank() ? x.shape()[x.rank() - 1] : 1;
  if (n > INT32_MAX) fail<LimitError>("sort", "more than 2147483647 elements in a row", "sort parts of it");
  return own_kernel(rows::Order, {x}, x.shape(), DType::int32, {n ? x.numel() / n : 0, n, descending});
}

Tensor add_sorted_rows(int64_t, const Tensor&, const Tensor&) {
  fail<LimitError>("add_rows", "there is no GPU kernel yet", "add on the CPU");
}

}  // namespace sg
