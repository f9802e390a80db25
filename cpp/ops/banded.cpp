// Products of a banded matrix with the vectors along a dimension: resizing, means of windows. Each row has `taps`
// weights, the first of which is for element first[row] of the vector. An element with weight 0 is not read, so a NaN or
// an infinity reaches only what depends on it; a product with the whole matrix would spread it by 0 * inf.
#include <algorithm>

#include "base/error.hpp"
#include "ops/launch.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace {

struct BandedParameters {
  int64_t rows, taps;
};

enum Word { kElements, kInner, kRows, kSize, kTaps };

// Rows of one vector. kTaps: how many, when that is known.
template <int kTaps, class T>
void multiply_vector(const T* x, const int32_t* first, const T* weights, int64_t taps, int64_t rows, T* out) {
  if (kTaps) taps = kTaps;
  for (int64_t row = 0; row < rows; ++row) {
    const T *from = x + first[row], *w = weights + row * taps;
    T sum = 0;
    for (int64_t k = 0; k < taps; ++k) sum += w[k] != 0 ? w[k] * from[k] : 0;
    out[row] = sum;
  }
}

// One row of `inner` vectors that lie side by side.
template <class T>
void multiply_row(const T* from, const T* w, int64_t taps, int64_t inner, T* out) {
  bool written = false;
  for (int64_t k = 0; k < taps; ++k, from += inner) {
    if (w[k] == 0) continue;
    if (written)
      for (int64_t i = 0; i < inner; ++i) out[i] += w[k] * from[i];
    else
      for (int64_t i = 0; i < inner; ++i) out[i] = w[k] * from[i];
    written = true;
  }
  if (!written) std::fill_n(out, inner, T(0));
}

template <class T>
void banded_on_cpu(const CpuArgs& args) {
  const int64_t inner = args.words[kInner], rows = args.words[kRows], size = args.words[kSize],
                taps = args.words[kTaps];
  const T *x = args.as<const T>(0), *weights = args.as<const T>(2);
  const int32_t* first = args.as<const int32_t>(1);
  T* out = args.as<T>(3);
  const auto multiply = taps == 2 ? multiply_vector<2, T> : taps == 4 ? multiply_vector<4, T> : multiply_vector<0, T>;
  constexpr int64_t kGrain = 16384;  // products that are worth a piece of work
  args.parallel(
      args.words[kElements] / inner, std::max<int64_t>(1, kGrain / (inner * taps)), [&](int64_t begin, int64_t end) {
        for (int64_t n = begin; n < end;) {
          const int64_t vector = n / rows, row = n % rows, count = inner == 1 ? std::min(rows - row, end - n) : 1;
          const T *from = x + vector * size * inner, *w = weights + row * taps;
          if (inner == 1)
            multiply(from, first + row, w, taps, count, out + n);
          else
            multiply_row(from + first[row] * inner, w, taps, inner, out + n * inner);
          n += count;
        }
      });
}

void expand_banded(const Node& node, bool gpu, Expansion& e) {
  CustomKernel& custom = e.launch(node.op->name);
  const DType t = node.dtype;
  const auto p = node.parameters.as<BandedParameters>();
  custom.tensors = {{0, t}, {1, DType::int32}, {2, t}, {e.result(), t, true}};
  custom.words = {node.numel, node.domain[2], p.rows, node.domain[1], p.taps};
  custom.cost = 2.0 * static_cast<double>(node.numel * p.taps);
  if (!gpu) {
    custom.cpu = t == DType::float64 ? banded_on_cpu<double> : banded_on_cpu<float>;
    return;
  }
  custom.source = t == DType::float64 ? "#define ELEMENT double\n#define MEMORY Float64\n#define BYTES Offset(8)\n"
                                      : "#define ELEMENT float\n#define MEMORY Float32\n#define BYTES Offset(4)\n";
  custom.source += node.numel <= INT32_MAX ? "#define PLACE uint\n" : "#define PLACE Offset\n";
  custom.source += "#include \"banded.glsl\"\n";
  set_threads(custom, node.numel, *e.gpu);
}

// The elements that a row's weights are for, and the weights: of the matrix, or of its transpose.
struct Band {
  Tensor first, weights;
};

// x [vectors, size, inner] -> [vectors, rows, inner]
Tensor multiply(const Tensor& x, const Band& matrix, const Band& transpose) {
  Tensor out;
  {
    GradMode off(false);
    const Dims &s = x.shape(), &w = matrix.weights.shape();
    const Dims shape = {s[0], w[0], s[2]};
    out = shape.numel() == 0
              ? full(shape, 0, x.dtype(), x.device())
              : custom_kernel(ops::Banded, {contiguous(x), contiguous(matrix.first), contiguous(matrix.weights)}, shape,
                              x.dtype(), BandedParameters{w[0], w[1]});
  }
  record_gradient(ops::Banded, out, {&x, &matrix.first, &matrix.weights, &transpose.first, &transpose.weights});
  return out;
}

void vjp_banded(Vjp& v) { v.result[0] = multiply(v.g, {v.in(3), v.in(4)}, {v.in(1), v.in(2)}); }

void check(const Tensor& x, int64_t size, int64_t rows, const Band& b) {
  const Dims &f = b.first.shape(), &w = b.weights.shape();
  if (f.rank != 1 || w.rank != 2 || f[0] != rows || w[0] != rows || w[1] < 1 || w[1] > size)
    fail<ValueError>("banded",
                     "first elements " + f.str() + " and weights " + w.str() + " of " + std::to_string(rows) +
                         " rows for vectors of " + std::to_string(size),
                     "give [rows] and [rows, at most the size]");
  if (b.first.dtype() != DType::int32 || b.weights.dtype() != x.dtype() || x.dtype() != wide_of(x.dtype()) ||
      !is_float(x.dtype()))
    fail<TypeError>("banded", std::string("weights of ") + name_of(b.weights.dtype()) + " for " + name_of(x.dtype()),
                    "use float32 or float64 for both, and int32 for first elements");
}

}  // namespace

namespace ops {
const OpInfo Banded = {.name = "banded",
                       .doc = "The product of a banded matrix with the vectors along a dimension.",
                       .kind = Kind::kernel,
                       .arity = 3,
                       .saves = kSavesB | kSavesC | kSavesRest,
                       .vjp = vjp_banded,
                       .expand = expand_banded};
}  // namespace ops

Tensor banded(const Tensor& x, int64_t dim, const Tensor& first, const Tensor& weights, const Tensor& transpose_first,
              const Tensor& transpose_weights) {
  common_device("banded", {&x, &first, &weights, &transpose_first, &transpose_weights});
  const int d = normal_axis("banded", dim, x.rank());
  const int64_t size = x.shape()[d], rows = weights.rank() ? weights.shape()[0] : 0;
  check(x, size, rows, {first, weights});
  check(x, rows, size, {transpose_first, transpose_weights});
  Dims shape = x.shape(), flat = {1, size, 1};
  for (int i = 0; i < x.rank(); ++i)
    if (i != d) flat[i < d ? 0 : 2] *= shape[i];
  shape[d] = rows;
  return reshape(multiply(reshape(x, flat), {first, weights}, {transpose_first, transpose_weights}), shape);
}

}  // namespace sg
