// Arithmetic of sizes and strides that cannot overflow unseen: a size that leaves int64 raises the error of the op.
// Knows no tensors.
#include "base/shape.hpp"

#include <algorithm>
#include <cstdlib>

#include "base/error.hpp"

namespace sg {

Dims Dims::filled(int rank, int64_t value) {
  if (rank > kMaxRank) refuse_more();
  Dims d;
  d.rank = static_cast<uint8_t>(rank);
  std::fill_n(d.v, rank, value);
  return d;
}

void Dims::refuse_more() { fail<ValueError>("shape", "more than 8 dimensions", "merge some of them"); }

std::string Dims::str() const {
  std::string s = "[";
  for (int i = 0; i < rank; ++i) s += (i ? ", " : "") + std::to_string(v[i]);
  return s + "]";
}

void check_size(const char* op, const Dims& shape) {
  int64_t n = 1;
  for (int64_t d : shape) {
    if (d < 0) fail<ValueError>(op, "negative size in shape " + shape.str(), "use sizes of 0 or more");
    if (d != 0 && (__builtin_mul_overflow(n, d, &n) || n > kMaxElements))
      fail<ValueError>(op, "shape " + shape.str() + " has more than 2^48 elements", "use fewer elements");
  }
}

namespace {
[[noreturn]] void too_large(const char* op, int64_t a, const char* sign, int64_t b) {
  fail<ValueError>(op, std::to_string(a) + sign + std::to_string(b) + " does not fit into 64 bits",
                   "use smaller numbers");
}
}  // namespace

int64_t plus(const char* op, int64_t a, int64_t b) {
  int64_t sum;
  if (__builtin_add_overflow(a, b, &sum)) too_large(op, a, " + ", b);
  return sum;
}

int64_t times(const char* op, int64_t a, int64_t b) {
  int64_t product;
  if (__builtin_mul_overflow(a, b, &product)) too_large(op, a, " * ", b);
  return product;
}

Dims contiguous_strides(const Dims& shape) {
  Dims s = Dims::filled(shape.rank, 1);
  for (int i = shape.rank - 2; i >= 0; --i) s[i] = s[i + 1] * shape[i + 1];
  return s;
}

bool is_contiguous(const Dims& shape, const Dims& strides) {
  if (shape.numel() == 0) return true;
  int64_t expected = 1;
  for (int i = shape.rank - 1; i >= 0; --i) {
    if (shape[i] != 1 && strides[i] != expected) return false;
    expected *= shape[i];
  }
  return true;
}

int64_t span(const Dims& shape, const Dims& strides) {
  if (shape.numel() == 0) return 0;
  int64_t last = 0;
  for (int d = 0; d < shape.rank; ++d) last += (shape[d] - 1) * strides[d];
  return last + 1;
}

Goes goes_of(const Dims& shape, const Dims& strides) {
  if (shape.numel() == 0) return {};
  int order[kMaxRank], n = 0;
  for (int d = 0; d < shape.rank; ++d) {
    if (shape[d] <= 1) continue;
    int at = n++;  // the smallest stride first
    for (; at > 0 && std::abs(strides[d]) < std::abs(strides[order[at - 1]]); --at) order[at] = order[at - 1];
    order[at] = d;
  }
  int64_t reach = 0;  // from the first to the last place of the dimensions so far
  for (int i = 0; i < n; ++i) {
    const int64_t size = shape[order[i]], stride = std::abs(strides[order[i]]);
    if (stride == 0) return {order[i], size};
    if (stride <= reach) return {order[i], std::min(size, reach / stride + 1)};
    reach += stride * (size - 1);
  }
  return {};
}

Dims broadcast_shapes(const char* op, const Dims& a, const Dims& b) {
  int rank = a.rank > b.rank ? a.rank : b.rank;
  Dims out = Dims::filled(rank, 1);
  for (int i = 1; i <= rank; ++i) {
    int64_t x = i <= a.rank ? a[a.rank - i] : 1;
    int64_t y = i <= b.rank ? b[b.rank - i] : 1;
    if (x != y && x != 1 && y != 1)
      fail<ValueError>(op,
                       "shapes do not broadcast, " + a.str() + " and " + b.str() + " (" + std::to_string(x) + " vs " +
                           std::to_string(y) + ")",
                       "reshape one side or insert a dimension of size 1");
    out[rank - i] = x == 1 ? y : x;
  }
  return out;
}

Dims broadcast_strides(const Dims& shape, const Dims& strides, const Dims& to) {
  Dims out = Dims::filled(to.rank, 0);
  for (int i = 1; i <= shape.rank; ++i)
    if (shape[shape.rank - i] != 1) out[to.rank - i] = strides[shape.rank - i];
  return out;
}

int normal_axis(const char* op, int64_t axis, int rank) {
  int64_t r = rank == 0 ? 1 : rank;  // a 0-d tensor accepts the axes 0 and -1, as PyTorch does
  if (axis < -r || axis >= r)
    fail<IndexError>(op,
                     "dimension " + std::to_string(axis) + " out of range for a tensor of rank " + std::to_string(rank),
                     "use " + std::to_string(-r) + " to " + std::to_string(r - 1));
  return static_cast<int>(axis < 0 ? axis + r : axis);
}

}  // namespace sg
