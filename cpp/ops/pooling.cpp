// Pooling: the largest or the mean of the elements of a window, at each of its places. One element of a window is
// chosen, named by its code, or all are added. Both are linear, and the gradient of each is the same op read the other
// way.
//
// Inside, images are [n, channels, height, width]; one dimension is an image of height 1.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.hpp"
#include "ops/image.hpp"
#include "ops/launch.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace {

constexpr int64_t kMostTaps = 64;  // of a window that is one formula

// The attributes of both ops. The code of an element of a window is row * kernel width + column.
struct Windows {
  HeightWidth kernel, stride, padding;
  HeightWidth image, result;

  DType code_type() const { return kernel.numel() <= 256 ? DType::uint8 : DType::int32; }
};

// The image with its padding, as far as the windows reach.
Tensor bordered(const Tensor& x, const Windows& w, double fill) {
  const auto behind = [&](int d) { return (w.result[d] - 1) * w.stride[d] + w.kernel[d] - w.padding[d] - w.image[d]; };
  const int64_t right = std::max<int64_t>(behind(1), 0), bottom = std::max<int64_t>(behind(0), 0);
  if (!w.padding[0] && !w.padding[1] && !right && !bottom) return x;
  return pad(x, {w.padding[1], right, w.padding[0], bottom}, "constant", fill);
}

// Element (i, j) of every window.
Tensor tap(const Tensor& x, const Windows& w, int64_t i, int64_t j) {
  return slice(slice(x, 2, i, w.result[0], w.stride[0]), 3, j, w.result[1], w.stride[1]);
}

template <class Body>
void each_tap(const Windows& w, Body body) {
  for (int64_t i = 0; i < w.kernel[0]; ++i)
    for (int64_t j = 0; j < w.kernel[1]; ++j) body(i, j);
}

// ---- linear: the elements that codes name, or the sums of all; and their gradients -----------------------------------

Tensor gathered(const Tensor& image, const Tensor* codes, const Windows& w) {
  const Tensor x = bordered(image, w, 0);
  if (w.kernel.numel() > kMostTaps) {
    const Dims &size = x.shape(), &s = x.strides();
    return sum(view(ops::AsStrided, x, {size[0], size[1], w.result[0], w.result[1], w.kernel[0], w.kernel[1]},
                    {s[0], s[1], s[2] * w.stride[0], s[3] * w.stride[1], s[2], s[3]}, x->offset),
               1u << 4 | 1u << 5);
  }
  Tensor out;
  each_tap(w, [&](int64_t i, int64_t j) {
    const Tensor seen = tap(x, w, i, j);
    if (codes)
      out = where(*codes == Tensor(i * w.kernel[1] + j), seen, out ? out : Tensor(0));
    else
      out = out ? out + seen : seen;
  });
  return out;
}

Tensor gather_windows(const OpInfo& op, const Tensor& x, const Tensor* codes, const Windows& w) {
  Tensor out;
  {
    GradMode off(false);
    out = gathered(x, codes, w);
    if (out->storage.get() == x->storage.get()) out = clone(out);
  }
  if (codes)
    record_gradient(op, out, {&x, codes}, w);
  else
    record_gradient(op, out, {&x}, w);
  return out;
}

// Height and width in one word.
struct PackedPair {
  int32_t height, width;
  HeightWidth unpacked() const { return {height, width}; }
};
PackedPair packed(const char* op, const HeightWidth& pair) {
  if (std::max(pair.height, pair.width) >> 31)
    fail<ValueError>(op, "sizes " + Dims(pair).str() + " of an image or a window", "use less than 2^31");
  return {static_cast<int32_t>(pair.height), static_cast<int32_t>(pair.width)};
}
struct SpreadParameters {
  PackedPair image, kernel, stride, padding;
};

Tensor spread(const OpInfo& op, const Tensor& g, const Tensor* codes, const Windows& w) {
  const Tensor from = contiguous(cast(g, wide_of(g.dtype())));
  const Dims shape = {g.shape()[0], g.shape()[1], w.image[0], w.image[1]};
  const auto run = [&](std::initializer_list<Tensor> inputs) {
    return custom_kernel(op, inputs, shape, from.dtype(),
                         SpreadParameters{packed(op.name, w.image), packed(op.name, w.kernel),
                                          packed(op.name, w.stride), packed(op.name, w.padding)},
                         w);
  };
  if (shape.numel() == 0) return full(shape, 0, g.dtype(), g.device());
  return cast(codes ? run({from, contiguous(*codes)}) : run({from}), g.dtype());
}

// words: the number of elements of the image, then pairs: image, result, kernel, stride, padding.
template <class T, class Code>
void spread_on_cpu(const CpuArgs& args) {
  const int64_t* words = args.words;
  const int64_t height = words[1], width = words[2], rows = words[3], columns = words[4];
  const int64_t kernel_rows = words[5], kernel_columns = words[6];
  constexpr bool kChosen = !std::is_void_v<Code>;
  const int64_t images = words[0] / (height * width);
  args.parallel(images, std::max<int64_t>(1, 16384 / (height * width)), [&](int64_t begin, int64_t end) {
    for (int64_t image = begin; image < end; ++image) {
      T* out = args.as<T>(kChosen ? 2 : 1) + image * height * width;
      std::fill(out, out + height * width, T(0));
      for (int64_t i = 0; i < rows; ++i)
        for (int64_t j = 0; j < columns; ++j) {
          const int64_t window = (image * rows + i) * columns + j;
          const int64_t y = i * words[7] - words[9], x = j * words[8] - words[10];
          const T g = args.as<T>(0)[window];
          if constexpr (kChosen) {
            const int64_t code = args.as<Code>(1)[window], row = y + code / kernel_columns,
                          column = x + code % kernel_columns;
            if (row >= 0 && row < height && column >= 0 && column < width) out[row * width + column] += g;
          } else {
            for (int64_t row = std::max<int64_t>(y, 0); row < std::min(y + kernel_rows, height); ++row)
              for (int64_t column = std::max<int64_t>(x, 0); column < std::min(x + kernel_columns, width); ++column)
                out[row * width + column] += g;
          }
        }
    }
  });
}
template <class T>
auto spread_function(const Node& node) {
  if (node.inputs == 1) return spread_on_cpu<T, void>;
  return node.in[1].dtype == DType::uint8 ? spread_on_cpu<T, uint8_t> : spread_on_cpu<T, int32_t>;
}

void expand_spread(const Node& node, bool gpu, Expansion& e) {
  CustomKernel& custom = e.launch(node.op->name);
  const DType t = node.dtype;
  for (int i = 0; i < node.inputs; ++i) custom.tensors.push_back({i, node.in[i].dtype});
  custom.tensors.push_back({e.result(), t, true});
  custom.words = {node.numel};
  const HeightWidth result = {node.domain[2], node.domain[3]};
  const auto p = node.parameters.as<SpreadParameters>();
  const HeightWidth kernel = p.kernel.unpacked();
  for (const HeightWidth& pair : {p.image.unpacked(), result, kernel, p.stride.unpacked(), p.padding.unpacked()})
    custom.words.insert(custom.words.end(), {pair.height, pair.width});
  custom.words.push_back(kernel.width);
  custom.cost = static_cast<double>(node.numel);
  if (!gpu) {
    custom.cpu = t == DType::float64 ? spread_function<double>(node) : spread_function<float>(node);
    return;
  }
  custom.source = t == DType::float64 ? "#define ELEMENT double\n#define MEMORY Float64\n#define BYTES Offset(8)\n"
                                      : "#define ELEMENT float\n#define MEMORY Float32\n#define BYTES Offset(4)\n";
  custom.source += "#define RESULT tensor(" + std::to_string(node.inputs) + ")\n";
  if (node.inputs == 2)
    custom.source += node.in[1].dtype == DType::uint8 ? "#define CODES Uint8\n#define CODE_BYTES Offset(1)\n"
                                                      : "#define CODES Int32\n#define CODE_BYTES Offset(4)\n";
  custom.source += "#include \"pool_image.glsl\"\n";
  set_threads(custom, node.numel, *e.gpu);
}

void vjp_chosen(Vjp& v) {
  const Tensor codes = v.in(1);
  v.result[0] = spread(ops::ChosenImage, v.g, &codes, v.attributes<Windows>());
  if (grad_enabled()) v.result[0] = flat_in_input(v.result[0], v.node, 0);  // the codes are made of it
}
void vjp_chosen_image(Vjp& v) {
  const Tensor codes = v.in(1);
  v.result[0] = gather_windows(ops::Chosen, v.g, &codes, v.attributes<Windows>());
}
void vjp_window_sum(Vjp& v) { v.result[0] = spread(ops::WindowSumImage, v.g, nullptr, v.attributes<Windows>()); }
void vjp_window_sum_image(Vjp& v) {
  v.result[0] = gather_windows(ops::WindowSum, v.g, nullptr, v.attributes<Windows>());
}

constexpr OpInfo row(const char* name, const char* doc, Kind kind, int arity, void (*vjp)(Vjp&)) {
  return {.name = name,
          .doc = doc,
          .kind = kind,
          .arity = arity,
          .saves = arity == 2 ? kSavesB : kSavesNothing,
          .vjp = vjp,
          .expand = kind == Kind::kernel ? expand_spread : nullptr};
}

// ---- what people call ------------------------------------------------------------------------------------------------

struct Pooling {
  Windows w;
  HeightWidth dilation;
  Tensor x;  // [n, channels, height, width]
  int dims;
  bool batched;

  Pooling(const char* op, int of, const Tensor& input, const Dims& kernels, const std::optional<Dims>& strides,
          const Dims& paddings, const Dims& dilations, bool ceil_mode)
      : dims(of), batched(input.rank() == of + 2) {
    check_image(op, input, dims);
    const Dims kernel = for_each_dimension(op, "kernel_size", kernels, dims, 1);
    const Dims stride = strides && strides->rank ? for_each_dimension(op, "stride", *strides, dims, 1) : kernel;
    const Dims padding = for_each_dimension(op, "padding", paddings, dims, 0),
               gaps = for_each_dimension(op, "dilation", dilations, dims, 1);
    x = as_image(input, dims);
    w.kernel = height_and_width(kernel, 1), w.stride = height_and_width(stride, 1);
    w.padding = height_and_width(padding, 0), dilation = height_and_width(gaps, 1);
    w.image = {x.shape()[2], x.shape()[3]};
    for (int d = 0; d < 2; ++d) {
      const int64_t reach = plus(op, times(op, dilation[d], w.kernel[d] - 1), 1);
      const int64_t rest = w.image[d] + 2 * w.padding[d] - reach;
      if (2 * w.padding[d] > w.kernel[d])
        fail<ValueError>(op, "padding " + padding.str() + " for a kernel of " + kernel.str(),
                         "use at most half of the kernel");
      const int64_t way = rest + (ceil_mode ? w.stride[d] - 1 : 0);  // a window that is cut off counts, too
      int64_t places = way < 0 ? 0 : way / w.stride[d] + 1;
      if (places > 0 && (places - 1) * w.stride[d] >= w.image[d] + w.padding[d]) --places;
      if (places < 1)
        fail<ValueError>(op, "a kernel of " + kernel.str() + " on input " + input.shape().str(),
                         "use a smaller kernel, or more padding");
      if (places == 1) w.stride[d] = 1;  // says nothing
      w.result[d] = places;
    }
    check_size(op, w.kernel);
  }
  Tensor back(const Tensor& y) const { return from_image(y, dims, batched); }
};

double lowest(DType t) {
  if (is_float(t)) return -std::numeric_limits<double>::infinity();
  const int64_t bits = 8 * static_cast<int64_t>(size_of(t));
  return t == DType::uint8 || t == DType::boolean ? 0 : -std::ldexp(1.0, static_cast<int>(bits) - 1);
}

// The places in the image of element (i, j) of each window.
Tensor flat_index(const Pooling& p, const Tensor& i, const Tensor& j) {
  const Windows& w = p.w;
  const auto start = [&](int d) {
    return arange(static_cast<double>(-w.padding[d]), static_cast<double>(w.stride[d]), w.result[d], DType::int64,
                  p.x.device());
  };
  const Tensor rows = reshape(start(0), {w.result[0], 1}) + i * Tensor(p.dilation[0]);
  return rows * Tensor(w.image[1]) + start(1) + j * Tensor(p.dilation[1]);
}

// Large windows, and windows with gaps: their elements are put side by side.
TensorPair max_of_copies(const Pooling& p) {
  Windows w = p.w;
  for (int d = 0; d < 2; ++d) w.kernel[d] = p.dilation[d] * (w.kernel[d] - 1) + 1;
  Tensor seen = bordered(p.x, w, lowest(p.x.dtype()));
  seen = slice(unfold(unfold(seen, 2, w.kernel[0], w.stride[0]), 3, w.kernel[1], w.stride[1]), 2, 0, w.result[0], 1);
  seen = slice(slice(slice(seen, 3, 0, w.result[1], 1), 4, 0, p.w.kernel[0], p.dilation[0]), 5, 0, p.w.kernel[1],
               p.dilation[1]);
  const Dims& s = seen.shape();
  const auto [values, taps] = max(reshape(seen, {s[0], s[1], s[2], s[3], s[4] * s[5]}), 4);
  return {values, flat_index(p, floor_divide(taps, Tensor(s[5])), remainder(taps, Tensor(s[5])))};
}

TensorPair max_pool(const Pooling& p) {
  const Windows& w = p.w;
  if (w.kernel.numel() > kMostTaps || !(p.dilation == HeightWidth{1, 1})) return max_of_copies(p);
  Tensor best, codes;
  {
    GradMode off(false);
    const Tensor x = bordered(p.x, w, lowest(p.x.dtype()));
    std::vector<Tensor> seen;
    each_tap(w, [&](int64_t i, int64_t j) {
      seen.push_back(tap(x, w, i, j));
      best = best ? maximum(best, seen.back()) : seen.back();
    });
    // The first of the largest elements, or the first NaN.
    for (int64_t n = w.kernel.numel() - 1; n >= 0; --n) {
      const Tensor& at = seen[static_cast<size_t>(n)];
      codes = codes ? where(is_float(at.dtype()) ? logical_or(at == best, isnan(at)) : at == best, Tensor(n), codes)
                    : full(best.shape(), static_cast<double>(n), DType::int32, best.device());
    }
    codes = cast(codes, w.code_type());
    if (w.kernel.numel() == 1) best = clone(best);
  }
  record_gradient(ops::Chosen, best, {&p.x, &codes}, w);
  const Tensor wide = cast(codes, DType::int64);
  return {best, flat_index(p, floor_divide(wide, Tensor(w.kernel[1])), remainder(wide, Tensor(w.kernel[1])))};
}

TensorPair max_pool(const char* op, int dims, const Tensor& input, const Dims& kernel,
                    const std::optional<Dims>& stride, const Dims& padding, const Dims& dilation, bool ceil_mode) {
  const Pooling p(op, dims, input, kernel, stride, padding, dilation, ceil_mode);
  const auto [values, indices] = max_pool(p);
  return {p.back(values), p.back(indices)};
}

// How many elements each window has along dimension d: those of the image (`real`), or with the padding.
Tensor counts(const Windows& w, int d, bool real, DType dtype, DeviceId device) {
  const int64_t pad = w.padding[d];
  const Tensor start = arange(static_cast<double>(-pad), static_cast<double>(w.stride[d]), w.result[d], dtype, device);
  const Tensor end = minimum(start + Tensor(w.kernel[d]), Tensor(w.image[d] + (real ? 0 : pad)));
  return end - (real ? maximum(start, Tensor(0)) : start);
}

Tensor avg_pool(const char* op, int dims, const Tensor& input, const Dims& kernel, const std::optional<Dims>& stride,
                const Dims& padding, bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor) {
  if (divisor && *divisor == 0) fail<ValueError>(op, "divisor_override 0", "use another number");
  const Pooling p(op, dims, cast(input, wide_of(with_fractions(input.dtype()))), kernel, stride, padding, {1},
                  ceil_mode);
  const Windows& w = p.w;
  const Tensor sums = gather_windows(ops::WindowSum, p.x, nullptr, w);
  const bool inside = [&] {
    for (int d = 0; d < 2; ++d)
      if ((w.padding[d] && !count_include_pad) ||
          (w.result[d] - 1) * w.stride[d] + w.kernel[d] > w.image[d] + 2 * w.padding[d])
        return false;
    return true;
  }();
  Tensor out;
  if (divisor || inside) {
    out = sums / Tensor(static_cast<double>(divisor.value_or(w.kernel.numel())));
  } else {
    const auto of = [&](int d) { return counts(w, d, !count_include_pad, p.x.dtype(), p.x.device()); };
    out = sums / (reshape(of(0), {w.result[0], 1}) * of(1));
  }
  return cast(p.back(out), with_fractions(input.dtype()));
}

}  // namespace

namespace ops {
const OpInfo Chosen = row("max_pool", "One element of each window, named by its code.", Kind::view, 2, vjp_chosen);
const OpInfo ChosenImage = row("max_pool_image", "The gradient of max_pool.", Kind::kernel, 2, vjp_chosen_image);
const OpInfo WindowSum = row("window_sum", "The sum of each window.", Kind::view, 1, vjp_window_sum);
const OpInfo WindowSumImage =
    row("window_sum_image", "The gradient of window_sum.", Kind::kernel, 1, vjp_window_sum_image);
}  // namespace ops

TensorPair max_pool1d_with_indices(const Tensor& input, const Dims& kernel_size, const std::optional<Dims>& stride,
                                   const Dims& padding, const Dims& dilation, bool ceil_mode) {
  return max_pool("max_pool1d", 1, input, kernel_size, stride, padding, dilation, ceil_mode);
}
TensorPair max_pool2d_with_indices(const Tensor& input, const Dims& kernel_size, const std::optional<Dims>& stride,
                                   const Dims& padding, const Dims& dilation, bool ceil_mode) {
  return max_pool("max_pool2d", 2, input, kernel_size, stride, padding, dilation, ceil_mode);
}
Tensor max_pool1d(const Tensor& input, const Dims& kernel_size, const std::optional<Dims>& stride, const Dims& padding,
                  const Dims& dilation, bool ceil_mode) {
  return max_pool1d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode).first;
}
Tensor max_pool2d(const Tensor& input, const Dims& kernel_size, const std::optional<Dims>& stride, const Dims& padding,
                  const Dims& dilation, bool ceil_mode) {
  return max_pool2d_with_indices(input, kernel_size, stride, padding, dilation, ceil_mode).first;
}
Tensor avg_pool1d(const Tensor& input, const Dims& kernel_size, const std::optional<Dims>& stride, const Dims& padding,
                  bool ceil_mode, bool count_include_pad) {
  return avg_pool("avg_pool1d", 1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, {});
}
Tensor avg_pool2d(const Tensor& input, const Dims& kernel_size, const std::optional<Dims>& stride, const Dims& padding,
                  bool ceil_mode, bool count_include_pad, std::optional<int64_t> divisor_override) {
  return avg_pool("avg_pool2d", 2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override);
}

}  // namespace sg
