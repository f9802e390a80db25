// Convolutions. Three products of an image x, weights w and a result g make up all of them: the convolution x * w -> g,
// the gradient by the image g * w -> x, which is the transposed convolution, and the gradient by the weights
// x * g -> w. The gradients of each are the other two.
//
// Inside, an image is [n, channels, height, width] and weights are [outputs, channels of a group, height, width]; one
// dimension is an image of height 1.
#include "ops/convolution.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "base/error.hpp"
#include "base/round.hpp"
#include "kernel/partial_sums.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg {
namespace convolution {
namespace {
std::atomic<bool> ignoring{false};
const Features& (*features)(DeviceId) = [](DeviceId) -> const Features& {
  static const Features unknown;
  return unknown;
};
}  // namespace

const Features& features_of(DeviceId device) { return features(device); }
void ask_for_features(const Features& (*of_a_device)(DeviceId)) { features = of_a_device; }
bool ignore_sizes(bool ignore) { return ignoring.exchange(ignore); }
bool ignores_sizes() { return ignoring.load(); }

int64_t Geometry::reach(int d) const {
  return plus("convolution", times("convolution", dilation[d], kernel[d] - 1), 1);
}

std::vector<Phase> phases_of(const Geometry& g, int d) {
  const int64_t stride = g.stride[d], common = std::gcd(stride, g.dilation[d]);
  std::vector<Phase> phases;
  for (int64_t tap = 0; tap < std::min(g.kernel[d], stride / common); ++tap) {
    Phase p;
    const int64_t reached = tap * g.dilation[d] - g.padding[d];
    p.place = (reached % stride + stride) % stride;
    if (p.place >= g.image[d]) continue;
    p.count = (g.image[d] - p.place + stride - 1) / stride;
    p.first = tap;
    p.step = stride / common;
    p.taps = (g.kernel[d] - tap + p.step - 1) / p.step;
    p.dilation = g.dilation[d] / common;
    p.before = p.dilation * (p.taps - 1) - (p.place - reached) / stride;
    phases.push_back(p);
  }
  return phases;
}

}  // namespace convolution

namespace {

using namespace convolution;

Tensor padded(const Tensor& x, int64_t top, int64_t bottom, int64_t left, int64_t right) {
  if (!top && !bottom && !left && !right) return x;
  return pad(x, {left, right, top, bottom}, "constant", 0);
}

// Strides of the image patches that a kernel reads in a padded image: by place of the result, by channel, by tap.
Dims places(const Tensor& x, const Geometry& g) { return {x.strides()[2] * g.stride[0], x.strides()[3] * g.stride[1]}; }
Dims taps(const Tensor& x, const Geometry& g) {
  return {x.strides()[1], x.strides()[2] * g.dilation[0], x.strides()[3] * g.dilation[1]};
}
Dims joined(std::initializer_list<Dims> lists) {
  Dims out;
  for (const Dims& list : lists)
    for (int64_t v : list) out.push(v);
  return out;
}
Dims zeros(int count) { return Dims::filled(count, 0); }

// One channel at a time, on the CPU: the kernel reads a window on the image, and no tensor holds the zeros around it.
bool through_window(const Tensor& x, const Tensor& other, int64_t outputs, const Geometry& g) {
  constexpr int64_t kMostElements = 1 << 15;  // of a plane: a part of a second cache
  if (x.device().is_gpu() || !is_float(x.dtype()) || is_narrow(x.dtype()) || g.groups == 1) return false;
  if (x.shape()[1] != g.groups || outputs != g.groups || x.dtype() != other.dtype()) return false;
  int64_t elements = 1;
  for (int d = 0; d < 2; ++d) {
    const int64_t most = g.image[d] + 2 * g.padding[d] + g.reach(d);
    if (most > kMostElements) return false;
    elements *= most;
  }
  return elements <= kMostElements;
}

// An image with rows in order, with `before` zeros before it and zeros after it up to `size`; cropped where that is
// less.
struct Framed {
  Tensor image;
  Window window;
};
Framed framed(const Tensor& x, const HeightWidth& before, const HeightWidth& size) {
  Tensor image = x.strides()[3] == 1 ? x : contiguous(x);
  for (int d = 0; d < 2; ++d) {
    const int64_t begin = std::max<int64_t>(-before[d], 0);
    const int64_t end = std::clamp(size[d] - before[d], begin, std::max(begin, x.shape()[d + 2]));
    image = slice(image, d + 2, std::min(begin, x.shape()[d + 2]), std::max<int64_t>(end - begin, 0), 1);
  }
  const Dims& shape = image.shape();
  return {image,
          {std::max<int64_t>(before[0], 0), std::max<int64_t>(before[1], 0), shape[2], shape[3], image.strides()[2],
           size[0], size[1]}};
}

// [n, channel, place] = sum over taps.
Tensor correlate_channels(const Framed& f, const Tensor& weight, const Geometry& g) {
  const Tensor w = contiguous(weight);
  const Dims& x = f.image.strides();
  const int64_t n = f.image.shape()[0], pitch = f.window.pitch;
  return contract(ops::Convolution, w, {0, 0, g.kernel.numel(), 0, 0, g.kernel[1], 1}, f.image,
                  {x[0], 0, x[1], pitch * g.stride[0], g.stride[1], pitch * g.dilation[0], g.dilation[1]},
                  {{n, 1, g.groups}, g.result, g.kernel, f.window}, {n, g.groups, g.result[0], g.result[1]});
}

// [channel, tap] = sum over images and places.
Tensor weight_gradient_of_channels(const Framed& f, const Tensor& result, const Geometry& g) {
  const Tensor whole = contiguous(result);
  const Dims &x = f.image.strides(), &y = whole.strides();
  const int64_t n = f.image.shape()[0], pitch = f.window.pitch;
  return contract(ops::ConvolutionWeight, whole, {y[1], 0, 0, 0, y[0], y[2], y[3]}, f.image,
                  {x[1], 0, pitch * g.dilation[0], g.dilation[1], x[0], pitch * g.stride[0], g.stride[1]},
                  {{g.groups, 1}, g.kernel, {n, g.result[0], g.result[1]}, f.window},
                  {g.groups, 1, g.kernel[0], g.kernel[1]});
}

HeightWidth framed_size(const Geometry& g) { return {g.image[0] + 2 * g.padding[0], g.image[1] + 2 * g.padding[1]}; }

// On a CPU: the places of all images are the columns of one product, where those of one image leave much of its panels
// empty, or where the weights lie in another order: such a product packs each of them about once, which costs less than a
// copy in order. What follows is not fused with it then, so it is only done where the product has much to do.
bool joins_images(const Tensor& x, const Tensor& w, const Geometry& g) {
  constexpr int64_t kPanel = 32, kMostPlaces = 64;  // columns
  constexpr int64_t kLeastWeights = 1 << 16;
  const int64_t places = g.result.numel();
  const bool half_empty = x.shape()[0] > 1 && 5 * round_up(places, kPanel) >= 6 * places;
  return !x.device().is_gpu() && w.shape()[0] > g.groups && places <= kMostPlaces &&
         w.numel() >= kLeastWeights * g.groups && (half_empty || !w.contiguous());
}

// From a padded image: [n, group, output, place] = sum over channels and taps.
Tensor correlate(const Tensor& x, const Tensor& weight, const Geometry& g) {
  const bool joins = joins_images(x, weight, g);
  const Tensor w = joins ? weight : contiguous(weight);
  const int64_t n = x.shape()[0], outputs = w.shape()[0], each = outputs / g.groups, channels = w.shape()[1];
  const int64_t inner = channels * g.kernel.numel();
  if (joins) {
    const Dims& of_w = w.strides();
    const Tensor out =
        contract(ops::Convolution, w, joined({{each * of_w[0], of_w[0]}, zeros(3), {of_w[1], of_w[2], of_w[3]}}), x,
                 joined({{channels * x.strides()[1], 0, x.strides()[0]}, places(x, g), taps(x, g)}),
                 {{g.groups, each}, {n, g.result[0], g.result[1]}, {channels, g.kernel[0], g.kernel[1]}},
                 {outputs, n, g.result[0], g.result[1]});
    return transpose(out, 0, 1);
  }
  Dims rows = {n, g.groups, each}, of_image = {x.strides()[0], channels * x.strides()[1], 0};
  // With one output in each group, groups are rows, so that channels lie where they do in other products.
  if (each == 1 && !x.device().is_gpu()) rows = {n, 1, g.groups}, of_image = {of_image[0], 0, of_image[1]};
  return contract(ops::Convolution, w, joined({{0, each * inner, inner}, zeros(2), {g.kernel.numel(), g.kernel[1], 1}}),
                  x, joined({of_image, places(x, g), taps(x, g)}),
                  {rows, g.result, {channels, g.kernel[0], g.kernel[1]}}, {n, outputs, g.result[0], g.result[1]});
}

Tensor forward(const Tensor& x, const Tensor& w, const Geometry& g) {
  if (through_window(x, w, w.shape()[0], g)) return correlate_channels(framed(x, g.padding, framed_size(g)), w, g);
  if (through_pixels(x, w, w.shape()[0], g)) return correlate_pixels(pixels_of_image(x, g), w, x.shape()[0], g);
  if (through_winograd(x, w, w.shape()[0], g)) return correlate_winograd(x, w, g);
  if (through_groups(x, w, w.shape()[0], g)) return correlate_groups(x, w, g);
  const Tensor whole = padded(x, g.padding[0], g.padding[0], g.padding[1], g.padding[1]);
  return correlate(whole, w, g);
}

// The weights with channels of the image and outputs exchanged, and the kernel reversed.
Tensor transposed(const Tensor& w, int64_t groups) {
  const Dims& s = w.shape();
  const Tensor by_group = reshape(w, {groups, s[0] / groups, s[1], s[2], s[3]});
  return reshape(reversed(transpose(by_group, 1, 2), {3, 4}), {groups * s[1], s[0] / groups, s[2], s[3]});
}

// What both gradients read of a result: rearranged when the first of them asks for it.
struct Shared {
  mutable std::optional<Pixels> pixels;
  const Pixels& pixels_of(const Tensor& y, const Geometry& g) const {
    if (!pixels) pixels = pixels_of_result(y, g);
    return *pixels;
  }
};

// The gradient by an image of few channels: all phases as outputs of one convolution, of every element that one of them
// reads, with zeros where a phase has no tap. What gathers patches does so once, not for each phase.
struct AllPhases {
  Phase along[2];
  Tensor taps;  // [outputs, channels of the result, taps]
  bool zeros;   // whether some are zeros, of a type that has infinities
};
AllPhases as_outputs(const Tensor& w, const Geometry& g, int64_t outputs) {
  const int64_t channels = w.shape()[1];
  const std::vector<Phase> phases[2] = {phases_of(g, 0), phases_of(g, 1)};
  AllPhases all{};
  const auto first_of = [&](int d, const Phase& p) { return all.along[d].before - p.before; };
  for (int d = 0; d < 2; ++d) {
    Phase& one = all.along[d];
    for (const Phase& p : phases[d]) one.before = std::max(one.before, p.before);
    for (const Phase& p : phases[d]) one.taps = std::max(one.taps, first_of(d, p) + p.dilation * (p.taps - 1) + 1);
    one.count = (g.image[d] + g.stride[d] - 1) / g.stride[d];
    for (const Phase& p : phases[d]) all.zeros |= p.taps != one.taps || p.dilation != 1;
    all.zeros |= static_cast<int64_t>(phases[d].size()) != std::min(g.stride[d], g.image[d]);
  }
  all.zeros &= is_float(w.dtype());
  all.taps = full({outputs, w.shape()[0], all.along[0].taps, all.along[1].taps}, 0, w.dtype(), w.device());
  for (const Phase& p : phases[0])
    for (const Phase& q : phases[1]) {
      const Tensor rows = slice(all.taps, 0, (p.place * g.stride[1] + q.place) * channels, channels, 1);
      const Tensor some = slice(slice(w, 2, p.first, p.taps, p.step), 3, q.first, q.taps, q.step);
      copy_(slice(slice(rows, 2, first_of(0, p), p.taps, p.dilation), 3, first_of(1, q), q.taps, q.dilation),
            transposed(some, 1));
    }
  return all;
}

// As if the image began a few elements earlier, in its padding, so that this is a multiple of the stride: phases then
// begin together, and have the same taps where the stride divides the kernel.
struct WithBorder {
  Geometry whole;
  HeightWidth border;
};
WithBorder with_border(const Geometry& g) {
  WithBorder w{g, {}};
  for (int d = 0; d < 2; ++d) {
    w.border[d] = g.padding[d] % g.stride[d];
    w.whole.image[d] += w.border[d];
    w.whole.padding[d] -= w.border[d];
  }
  return w;
}

// A zero in the place of a tap must not meet what is not finite: the product is of finite numbers, and NaN comes
// afterwards, where a tap sees it.
Tensor finite(const Tensor& y) { return where(isfinite(y), y, Tensor(0)); }
// [n, 1, image]: 0, or NaN where a tap sees an element of the result that is not finite.
Tensor not_finite(const Tensor& y, const Geometry& g) {
  Tensor seen = sum(y * Tensor(0), 1u << 1, true);
  for (int d = 0; d < 2; ++d) {
    const std::vector<Phase> phases = phases_of(g, d);
    int64_t before = 0, after = 0;
    for (const Phase& p : phases) {
      before = std::max(before, p.before);
      after = std::max(after, p.reach() - p.before - y.shape()[d + 2]);
    }
    const Tensor whole = d ? padded(seen, 0, 0, before, after) : padded(seen, before, after, 0, 0);
    Dims shape = seen.shape();
    shape[d + 2] = g.image[d];
    seen = full(shape, 0, y.dtype(), y.device());
    for (const Phase& p : phases) {
      Tensor sum;
      for (int64_t tap = 0; tap < p.taps; ++tap) {
        const Tensor one = slice(whole, d + 2, before - p.before + tap * p.dilation, p.count, 1);
        sum = sum ? sum + one : one;
      }
      copy_(slice(seen, d + 2, p.place, p.count, g.stride[d]), sum);
    }
  }
  return seen;
}

// The image of [n, phases and channels, rows, columns], without `border` elements before it.
Tensor of_phases(const Tensor& all, int64_t channels, const Geometry& g, const HeightWidth& border = {}) {
  const Dims &s = all.shape(), apart = {s[0], g.stride[0], g.stride[1], channels, s[2], s[3]};
  const Tensor parts = reshape(slice(all, 1, 0, channels * g.stride.numel(), 1), apart);
  const Tensor whole = reshape(permute(parts, {0, 3, 4, 1, 5, 2}), {s[0], channels, s[2] * apart[1], s[3] * apart[2]});
  return contiguous(slice(slice(whole, 2, border[0], g.image[0], 1), 3, border[1], g.image[1], 1));
}

// Of the result's pixels: as many outputs as the smallest tile of matrix units has.
constexpr int64_t kOutputs = 64;
bool outputs_of_pixels(const Tensor& y, const Tensor& w, const Geometry& g) {
  constexpr int64_t kFewChannels = 16;
  const int64_t channels = w.shape()[1], outputs = channels * g.stride.numel();
  return channels < kFewChannels && g.stride.numel() > 1 && outputs <= kOutputs && through_pixels(y, w, kOutputs, g);
}
// Of patches, on a GPU.
bool outputs_of_patches(const Tensor& y, const Tensor& w, const Geometry& g) {
  constexpr int64_t kMostOutputs = 16;  // those of a small tile
  return y.device().is_gpu() && g.groups == 1 && g.stride.numel() > 1 &&
         w.shape()[1] * g.stride.numel() <= kMostOutputs;
}

// The convolution of a result with the taps of one phase along each dimension.
Geometry of_phase(const Phase& p, const Phase& q, int64_t groups) {
  Geometry g;
  g.stride = {1, 1};
  g.dilation = {p.dilation, q.dilation};
  g.kernel = {p.taps, q.taps};
  g.result = {p.count, q.count};
  g.groups = groups;
  return g;
}

// [n, output, place]: what these taps see of the result.
Tensor correlate_seen(const Tensor& y, const Tensor& w, const Geometry& g, const Phase& p, const Phase& q) {
  const auto after = [&](const Phase& one, int d) { return one.reach() - one.before - y.shape()[d + 2]; };
  return correlate(padded(y, p.before, after(p, 0), q.before, after(q, 1)), w, of_phase(p, q, g.groups));
}

// The gradient by the image: for each residue modulo the stride, a convolution with every stride-th tap of the kernel.
Tensor image_gradient(const Tensor& y, const Tensor& w, const Geometry& g, const Shared& shared) {
  const Dims shape = {y.shape()[0], w.shape()[1] * g.groups, g.image[0], g.image[1]};
  if (y.numel() == 0 || shape.numel() == 0) return full(shape, 0, y.dtype(), y.device());
  if (through_winograd(y, w, shape[1], g)) return image_gradient_winograd(y, w, g);
  if (through_groups(y, w, shape[1], g)) return image_gradient_groups(y, w, g);
  if (outputs_of_pixels(y, w, g)) {
    const auto [along, taps, zeros] = as_outputs(w, g, kOutputs);
    const Pixels pixels = zeros ? pixels_of_result(finite(y), g) : shared.pixels_of(y, g);
    const Tensor image = of_phases(correlate_phases(pixels, taps, shape[0], g, along[0], along[1]), shape[1], g);
    return zeros ? image + not_finite(y, g) : image;
  }
  if (outputs_of_patches(y, w, g)) {
    const auto [whole, border] = with_border(g);
    const auto [along, taps, zeros] = as_outputs(w, whole, shape[1] * g.stride.numel());
    const Tensor all = correlate_seen(zeros ? finite(y) : y, taps, whole, along[0], along[1]);
    const Tensor image = of_phases(all, shape[1], g, border);
    return zeros ? image + not_finite(y, g) : image;
  }
  const std::vector<Phase> phases[2] = {phases_of(g, 0), phases_of(g, 1)};
  int64_t before[2] = {}, after[2] = {};
  for (int d = 0; d < 2; ++d)
    for (const Phase& p : phases[d]) {
      before[d] = std::max(before[d], p.before);
      after[d] = std::max(after[d], p.reach() - p.before - y.shape()[d + 2]);
    }
  const bool windows = through_window(y, w, shape[1], g), rows = through_pixels(y, w, shape[1], g);
  const Pixels pixels = rows ? shared.pixels_of(y, g) : Pixels{};
  const Tensor whole = windows || rows ? y : padded(y, before[0], after[0], before[1], after[1]);
  const auto one = [&](const Phase& p, const Phase& q) {
    const Geometry inner = of_phase(p, q, g.groups);
    const Tensor some = transposed(slice(slice(w, 2, p.first, p.taps, p.step), 3, q.first, q.taps, q.step), g.groups);
    if (rows) return correlate_phases(pixels, some, y.shape()[0], g, p, q);
    if (windows) return correlate_channels(framed(y, {p.before, q.before}, {p.reach(), q.reach()}), some, inner);
    const Tensor seen =
        slice(slice(whole, 2, before[0] - p.before, p.reach(), 1), 3, before[1] - q.before, q.reach(), 1);
    return correlate(seen, some, inner);
  };
  if (g.stride == HeightWidth{1, 1}) return one(phases[0][0], phases[1][0]);
  const Tensor out = full(shape, 0, y.dtype(), y.device());
  for (const Phase& p : phases[0])
    for (const Phase& q : phases[1])
      copy_(slice(slice(out, 2, p.place, p.count, g.stride[0]), 3, q.place, q.count, g.stride[1]), one(p, q));
  return out;
}

// How many images one sum runs over, so that a large machine has enough sums to compute; they are added afterwards.
int64_t images_of_a_sum(const Tensor& x, int64_t m, int64_t n, const Geometry& g) {
  constexpr int64_t kLeast = 128, kTile = 128;  // elements of a sum, and sides of what a workgroup computes
  const int64_t images = x.shape()[0], places = g.result.numel();
  if (!x.device().is_gpu() || g.groups != 1 || images == 0) return images;
  const int64_t tiles = (m + kTile - 1) / kTile * ((n + kTile - 1) / kTile);
  return images / partial_sums(tiles, images * places, m * n, images,
                               [&](int64_t sums) { return images % sums == 0 && images / sums * places >= kLeast; });
}

// [group, output, channel and tap] = sum over images and places.
Tensor weight_gradient(const Tensor& image, const Tensor& y, const Geometry& g, bool wide, const Shared& shared) {
  if (through_window(image, y, y.shape()[1], g))
    return weight_gradient_of_channels(framed(image, g.padding, framed_size(g)), y, g);
  if (through_pixels(image, y, y.shape()[1], g))
    return weights_of_pixels(pixels_of_image(image, g), shared.pixels_of(y, g), image.shape()[0], y.shape()[1],
                             image.shape()[1], g, wide);
  if (through_winograd(image, y, y.shape()[1], g)) return weights_winograd(image, y, g);
  if (through_groups(image, y, y.shape()[1], g))
    return cast(weights_groups(image, y, g), wide ? DType::float32 : y.dtype());
  const Tensor x = padded(image, g.padding[0], g.padding[0], g.padding[1], g.padding[1]);
  const int64_t n = x.shape()[0], outputs = y.shape()[1], each = outputs / g.groups, channels = x.shape()[1] / g.groups;
  const int64_t images = images_of_a_sum(x, each, channels * g.kernel.numel(), g);
  const int64_t sums = g.groups == 1 && images ? n / images : 1, batch = g.groups * sums;
  const auto of_batch = [&](const Tensor& t, int64_t each_group) {
    return g.groups == 1 ? images * t.strides()[0] : each_group * t.strides()[1];
  };
  Contraction sizes{{batch, each}, {channels, g.kernel[0], g.kernel[1]}, {images, g.result[0], g.result[1]}};
  sizes.wide = sums > 1 || wide;
  const Tensor out = contract(
      ops::ConvolutionWeight, y,
      joined({{of_batch(y, each), y.strides()[1]}, zeros(3), {y.strides()[0], y.strides()[2], y.strides()[3]}}), x,
      joined({{of_batch(x, channels), 0}, taps(x, g), {x.strides()[0]}, places(x, g)}), sizes,
      {sums, outputs, channels, g.kernel[0] * g.kernel[1]});
  const Tensor all = sums > 1 ? cast(sum(out, {0}), wide ? out.dtype() : x.dtype()) : out;
  return reshape(all, {outputs, channels, g.kernel[0], g.kernel[1]});
}

// Computes one of the three products and records it for gradients.
template <class Compute>
Tensor product(const OpInfo& op, Compute compute, const Tensor& a, const Tensor& b, const Geometry& g) {
  Tensor out;
  {
    GradMode off(false);
    out = compute(a, b, g);
  }
  record_gradient(op, out, {&a, &b}, g);
  return out;
}
Tensor convolve(const Tensor& x, const Tensor& w, const Geometry& g) {
  return product(ops::Convolution, forward, x, w, g);
}
Tensor by_image(const Tensor& y, const Tensor& w, const Geometry& g, const Shared& shared = {}) {
  const auto compute = [&](const Tensor& a, const Tensor& b, const Geometry& geometry) {
    return image_gradient(a, b, geometry, shared);
  };
  return product(ops::ConvolutionImage, compute, y, w, g);
}
Tensor by_weight(const Tensor& x, const Tensor& y, const Geometry& g, bool wide, const Shared& shared = {}) {
  const auto compute = [&](const Tensor& a, const Tensor& b, const Geometry& geometry) {
    return weight_gradient(a, b, geometry, wide, shared);
  };
  return product(ops::ConvolutionWeight, compute, x, y, g);
}

void vjp_convolution(Vjp& v) {
  const auto& g = v.attributes<Geometry>();
  const Shared shared;
  if (v.needs(0)) v.result[0] = by_image(v.g, v.in(1), g, shared);
  if (v.needs(1)) v.result[1] = by_weight(v.in(0), v.g, g, v.wide(1), shared);
}
void vjp_image(Vjp& v) {
  const auto& g = v.attributes<Geometry>();
  if (v.needs(0)) v.result[0] = convolve(v.g, v.in(1), g);
  if (v.needs(1)) v.result[1] = by_weight(v.g, v.in(0), g, v.wide(1));
}
void vjp_weight(Vjp& v) {
  const auto& g = v.attributes<Geometry>();
  const Tensor weights = cast(v.g, v.node.in[0].dtype);  // the product of halves may have been float32
  if (v.needs(0)) v.result[0] = by_image(v.in(1), weights, g);
  if (v.needs(1)) v.result[1] = convolve(v.in(0), weights, g);
}

constexpr OpInfo row(const char* name, const char* doc, void (*vjp)(Vjp&)) {
  return {.name = name,
          .doc = doc,
          .kind = Kind::contraction,
          .arity = 2,
          .saves = kSavesA | kSavesB,
          .vjp = vjp,
          .reads = {kReadsOnly | kSavesB, kReadsOnly | kSavesA}};
}

// ---- what people call ------------------------------------------------------------------------------------------------

void check(const char* op, const Tensor& x, const Tensor& w, const std::optional<Tensor>& bias, int dims,
           int64_t channels, int64_t outputs, int64_t groups) {
  const auto both = [&] { return "input " + x.shape().str() + " and weight " + w.shape().str(); };
  common_device(op, {&x, &w});
  check_image(op, x, dims);
  if (w.rank() != dims + 2)
    fail<ValueError>(op, "weight of shape " + w.shape().str(), "use " + std::to_string(dims + 2) + " dimensions");
  if (groups < 1) fail<ValueError>(op, std::to_string(groups) + " groups", "use 1 or more");
  const int64_t have = x.shape()[x.rank() - dims - 1];
  if (have != channels)
    fail<ValueError>(op,
                     both() + " with " + std::to_string(groups) + " group(s): " + std::to_string(have) +
                         " channels where the weight has " + std::to_string(channels),
                     "make them equal");
  if (w.shape()[0] % groups != 0)
    fail<ValueError>(op, both() + ": the weight's first size is no multiple of " + std::to_string(groups) + " groups",
                     "use a multiple");
  if (bias && !(bias->shape() == Dims{outputs}))
    fail<ValueError>(op, "bias of shape " + bias->shape().str() + " for " + std::to_string(outputs) + " outputs",
                     "give one number for each");
  if (x.dtype() == DType::boolean || w.dtype() == DType::boolean)
    fail<TypeError>(op, "booleans have no product", "convert to float32 or int32");
}

Tensor with_bias(const Tensor& y, const std::optional<Tensor>& bias) {
  return bias ? y + reshape(*bias, {1, y.shape()[1], 1, 1}) : y;
}

// The widths to add on each side. Where "same" needs one more at the end, `x` gets it here.
Dims widths_of(const char* op, Tensor& x, const TextOrDims& padding, const Dims& kernel, const Dims& stride,
               const Dims& dilation) {
  const int dims = kernel.rank;
  if (const Dims* widths = std::get_if<Dims>(&padding)) return for_each_dimension(op, "padding", *widths, dims, 0);
  const std::string& text = std::get<std::string>(padding);
  if (text == "valid") return Dims::filled(dims, 0);
  if (text != "same") fail<ValueError>(op, "padding '" + text + "'", "use 'same', 'valid' or widths");
  Dims widths;
  std::vector<int64_t> behind;
  for (int d = 0; d < dims; ++d) {
    if (stride[d] != 1)
      fail<ValueError>(op, "padding 'same' with stride " + stride.str(), "use a stride of 1, or widths");
    const int64_t all = times(op, dilation[d], kernel[d] - 1);
    widths.push(all / 2);
    behind.insert(behind.begin(), {0, all % 2});
  }
  if (std::count(behind.begin(), behind.end(), 1)) x = pad(x, behind, "constant", 0);
  return widths;
}

Tensor conv(const char* op, int dims, const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
            const Dims& strides, const TextOrDims& padding, const Dims& dilations, int64_t groups) {
  check(op, input, weight, bias, dims, weight.rank() > 1 ? times(op, weight.shape()[1], groups) : 0,
        weight.rank() ? weight.shape()[0] : 0, groups);
  const Dims stride = for_each_dimension(op, "stride", strides, dims, 1),
             dilation = for_each_dimension(op, "dilation", dilations, dims, 1);
  Dims kernel;
  for (int d = 0; d < dims; ++d) kernel.push(weight.shape()[d + 2]);
  const DType dtype = product_type(op, input, weight), factors = factor_type(dtype, input.device());
  Tensor whole = input;
  const Dims widths = widths_of(op, whole, padding, kernel, stride, dilation);
  Tensor x = as_image(cast(whole, factors), dims), w = as_image(cast(weight, factors), dims);
  Geometry g;
  g.stride = height_and_width(stride, 1), g.padding = height_and_width(widths, 0),
  g.dilation = height_and_width(dilation, 1), g.kernel = height_and_width(kernel, 1);
  g.groups = groups;
  g.image = {x.shape()[2], x.shape()[3]};
  for (int d = 0; d < 2; ++d) {
    if (g.kernel[d] < 1 || g.reach(d) > g.image[d] + 2 * g.padding[d])
      fail<ValueError>(op,
                       "a kernel of " + kernel.str() + " with dilation " + dilation.str() + " on input " +
                           input.shape().str() + " with padding " + widths.str(),
                       "use a smaller kernel, or more padding");
    g.result[d] = (g.image[d] + 2 * g.padding[d] - g.reach(d)) / g.stride[d] + 1;
  }
  return cast(from_image(with_bias(convolve(x, w, g), bias), dims, input.rank() == dims + 2), dtype);
}

Tensor conv_transpose(const char* op, int dims, const Tensor& input, const Tensor& weight,
                      const std::optional<Tensor>& bias, const Dims& strides, const Dims& paddings,
                      const Dims& output_paddings, int64_t groups, const Dims& dilations) {
  check(op, input, weight, bias, dims, weight.rank() ? weight.shape()[0] : 0,
        weight.rank() > 1 ? times(op, weight.shape()[1], groups) : 0, groups);
  const Dims stride = for_each_dimension(op, "stride", strides, dims, 1),
             dilation = for_each_dimension(op, "dilation", dilations, dims, 1);
  const Dims padding = for_each_dimension(op, "padding", paddings, dims, 0);
  const Dims more = for_each_dimension(op, "output_padding", output_paddings, dims, 0);
  const DType dtype = product_type(op, input, weight), factors = factor_type(dtype, input.device());
  const Tensor y = as_image(cast(input, factors), dims), w = as_image(cast(weight, factors), dims);
  Geometry g;
  g.stride = height_and_width(stride, 1), g.padding = height_and_width(padding, 0),
  g.dilation = height_and_width(dilation, 1);
  g.kernel = {w.shape()[2], w.shape()[3]};
  g.result = {y.shape()[2], y.shape()[3]};
  g.groups = groups;
  const HeightWidth extra = height_and_width(more, 0);
  for (int d = 0; d < 2; ++d) {
    if (extra[d] >= std::max(g.stride[d], g.dilation[d]))
      fail<ValueError>(op, "output_padding " + more.str() + " with stride " + stride.str(),
                       "use less than the stride or the dilation");
    const int64_t way = times(op, y.shape()[d + 2] - 1, g.stride[d]);
    g.image[d] = plus(op, way - 2 * g.padding[d] + extra[d], g.reach(d));
    if (g.kernel[d] < 1 || g.image[d] < 1)
      fail<ValueError>(op, "input " + input.shape().str() + " leaves a result of size " + std::to_string(g.image[d]),
                       "use less padding");
  }
  return cast(from_image(with_bias(by_image(y, w, g), bias), dims, input.rank() == dims + 2), dtype);
}

}  // namespace

namespace ops {
const OpInfo Convolution = row("convolution", "An image with weights that move over it.", vjp_convolution);
const OpInfo ConvolutionImage =
    row("convolution_image", "The gradient of a convolution by its image: the transposed convolution.", vjp_image);
const OpInfo ConvolutionWeight = row("convolution_weight", "The gradient of a convolution by its weights.", vjp_weight);
}  // namespace ops

Tensor conv1d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, const Dims& stride,
              const TextOrDims& padding, const Dims& dilation, int64_t groups) {
  return conv("conv1d", 1, input, weight, bias, stride, padding, dilation, groups);
}
Tensor conv2d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, const Dims& stride,
              const TextOrDims& padding, const Dims& dilation, int64_t groups) {
  return conv("conv2d", 2, input, weight, bias, stride, padding, dilation, groups);
}

// The planes that a kernel reads along the depth become channels: [n, channels, depth, ...] -> [n * result, channels *
// kernel, ...].
Tensor conv3d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias, const Dims& stride,
              const TextOrDims& padding, const Dims& dilation, int64_t groups) {
  constexpr auto op = "conv3d";
  check(op, input, weight, bias, 3, weight.rank() > 1 ? times(op, weight.shape()[1], groups) : 0,
        weight.rank() ? weight.shape()[0] : 0, groups);
  const Dims s = for_each_dimension(op, "stride", stride, 3, 1), d = for_each_dimension(op, "dilation", dilation, 3, 1);
  const Dims& k = weight.shape();
  Tensor x = input.rank() == 4 ? unsqueeze(input, 0) : input;
  const Dims widths = widths_of(op, x, padding, {k[2], k[3], k[4]}, s, d);
  const int64_t reach = plus(op, times(op, d[0], k[2] - 1), 1), depth = x.shape()[2] + 2 * widths[0];
  if (k[2] < 1 || reach > depth)
    fail<ValueError>(op, "a kernel of depth " + std::to_string(k[2]) + " on input " + input.shape().str(),
                     "use a smaller kernel, or more padding");
  if (widths[0]) x = pad(x, {0, 0, 0, 0, widths[0], widths[0]}, "constant", 0);
  Tensor deep = unfold(x, 2, reach, s[0]);  // n, channels, result, height, width, reach
  deep = slice(deep, 5, 0, k[2], d[0]);
  const Dims shape = deep.shape();
  deep = reshape(permute(deep, {0, 2, 1, 5, 3, 4}), {shape[0] * shape[2], shape[1] * k[2], shape[3], shape[4]});
  const Tensor flat = conv2d(deep, reshape(weight, {k[0], k[1] * k[2], k[3], k[4]}), bias, {s[1], s[2]},
                             Dims{widths[1], widths[2]}, {d[1], d[2]}, groups);
  const Dims& y = flat.shape();
  const Tensor out = transpose(reshape(flat, {shape[0], shape[2], y[1], y[2], y[3]}), 1, 2);
  return input.rank() == 4 ? squeeze(out, 0) : out;
}

Tensor conv_transpose1d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                        const Dims& stride, const Dims& padding, const Dims& output_padding, int64_t groups,
                        const Dims& dilation) {
  return conv_transpose("conv_transpose1d", 1, input, weight, bias, stride, padding, output_padding, groups, dilation);
}
Tensor conv_transpose2d(const Tensor& input, const Tensor& weight, const std::optional<Tensor>& bias,
                        const Dims& stride, const Dims& padding, const Dims& output_padding, int64_t groups,
                        const Dims& dilation) {
  return conv_transpose("conv_transpose2d", 2, input, weight, bias, stride, padding, output_padding, groups, dilation);
}

}  // namespace sg
