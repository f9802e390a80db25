// Convolutions of half types as products of shifted rows: docs/decisions/045-shifted-rows.md.
#include <algorithm>
#include <numeric>

#include "base/round.hpp"
#include "ops/convolution.hpp"
#include "ops/list.hpp"
#include "ops/ops.hpp"

namespace sg::convolution {
namespace {

constexpr int64_t kTile = 256;  // a side of the largest tile of matrix units: no tile has an edge along places
constexpr int64_t kStep = 64;   // of such a tile along k: it divides a row of taps

bool multiplies_tiles(const Tensor& x) {
  return features_of(x.device()).units(x.dtype()).path == MatrixUnits::Path::cm2;
}

// Whether the rearranged images are worth their launches.
bool is_worth(const Tensor& image, int64_t outputs, const Geometry& g) {
  constexpr double kLeastWork = 1 << 27;  // multiplications
  constexpr double kLeastChannels = 16;   // and outputs: a side of a fragment
  const double channels = static_cast<double>(image.shape()[1]), m = static_cast<double>(outputs);
  const double places = static_cast<double>(image.shape()[0] * g.result.numel());
  return std::min(channels, m) >= kLeastChannels && image.shape()[1] * g.kernel[1] % kStep == 0 &&
         places * static_cast<double>(g.kernel.numel()) * channels * m >= kLeastWork && multiplies_tiles(image);
}

// Rows of a frame, and places of a row: of the result, or of what the image's gradient has of it. Neighbouring rows and
// images share the zeros between them. Images and results have one grid, so that the weights' gradient is one product.
HeightWidth grid_of(const Geometry& g) {
  HeightWidth grid;
  for (int d = 0; d < 2; ++d) {
    const int64_t result = g.result[d], stride = g.stride[d];
    const int64_t right = (result - 1) * stride + g.reach(d) - g.padding[d] - g.image[d];
    int64_t zeros = 0, count = result;
    for (const Phase& p : phases_of(g, d)) {
      zeros = std::max({zeros, p.before, p.reach() - p.before - result});
      count = std::max(count, p.count);
    }
    grid[d] = std::max({divide_up(g.image[d] + std::max(g.padding[d], right), stride), count, result + zeros});
  }
  return grid;
}

int64_t places_of(const HeightWidth& grid, int64_t images) { return round_up(images * grid.numel(), kTile); }

// Of the zeros before a result that all phases together need.
HeightWidth zeros_before(const Geometry& g) {
  HeightWidth before;
  for (int d = 0; d < 2; ++d)
    for (const Phase& p : phases_of(g, d)) before[d] = std::max(before[d], p.before);
  return before;
}

Tensor from(const Pixels& x, int64_t row) { return slice(x.rows, 0, row, x.rows.numel() - row, 1); }

// [output, place] = sum over rows of taps, `step` rows of the image apart, and over neighbouring taps and their channels.
Tensor shifted(const Pixels& x, int64_t row, int64_t across, const Tensor& w, int64_t step, int64_t places, bool wide) {
  const Dims& s = w.shape();
  const int64_t rows = s[2], run = s[3] * x.channels;
  const Tensor whole = x.channels == s[1] ? w : pad(w, {0, 0, 0, 0, 0, x.channels - s[1]}, "constant", 0);
  Contraction sizes{{1, s[0]}, {places}, {rows, run}};
  sizes.wide = wide;
  return contract(ops::Convolution, contiguous(permute(whole, {0, 2, 3, 1})), {0, rows * run, 0, run, 1}, from(x, row),
                  {0, 0, across * x.channels, step * x.frame.pitch * x.channels, 1}, sizes, {s[0], places});
}

// [n, output, row, column] of [output, place]: without the places between images.
Tensor cropped(const Tensor& y, int64_t images, const HeightWidth& grid, const HeightWidth& result) {
  const Tensor frames = reshape(slice(y, 1, 0, images * grid.numel(), 1), {y.shape()[0], images, grid[0], grid[1]});
  return contiguous(permute(slice(slice(frames, 2, 0, result[0], 1), 3, 0, result[1], 1), {1, 0, 2, 3}));
}

}  // namespace

bool through_pixels(const Tensor& image, const Tensor& other, int64_t outputs, const Geometry& g) {
  const DType t = image.dtype();
  const int64_t images = image.shape()[0], channels = image.shape()[1];
  if (!image.device().is_gpu() || (t != DType::float16 && t != DType::bfloat16) || other.dtype() != t) return false;
  if (g.groups != 1 || g.kernel.numel() == 1 || (g.dilation[1] != 1 && g.kernel[1] != 1)) return false;
  if (image.numel() == 0 || outputs == 0 || g.result.numel() == 0) return false;
  if (!ignores_sizes() && !is_worth(image, outputs, g)) return false;
  for (int d = 0; d < 2; ++d)
    if (std::max({g.result[d], g.stride[d], g.dilation[d]}) > UINT16_MAX) return false;
  const HeightWidth grid = grid_of(g);
  const double pixels = static_cast<double>((places_of(grid, images) + (g.reach(0) + 4) * grid[1]) * g.stride.numel());
  return pixels * static_cast<double>(std::max(channels, outputs) + 8) <= INT32_MAX;
}

Pixels pixels_of_image(const Tensor& x, const Geometry& g) {
  const HeightWidth grid = grid_of(g);
  Frame f{g.padding, grid[0], grid[1] * g.stride[1], g.stride[0], 1, 0};
  for (int64_t tap = 0; tap < g.kernel[0]; ++tap) f.planes = std::max(f.planes, tap * g.dilation[0] % f.stride + 1);
  f.plane = places_of(grid, x.shape()[0]) * g.stride[1] + ((g.reach(0) - 1) / f.stride + 2) * f.pitch;
  return pixels_of(x, f);
}

Pixels pixels_of_result(const Tensor& y, const Geometry& g) {
  const HeightWidth grid = grid_of(g), before = zeros_before(g);
  Frame f{before, grid[0], grid[1], 1, 1, 0};
  f.plane = places_of(grid, y.shape()[0]) + (before[0] + g.reach(0) + 2) * f.pitch;
  return pixels_of(y, f);
}

// Rows of taps that lie in one plane are one product. The sums of several planes are rounded once, at the end.
Tensor correlate_pixels(const Pixels& x, const Tensor& w, int64_t images, const Geometry& g) {
  const HeightWidth grid = grid_of(g);
  const int64_t stride = g.stride[0], dilation = g.dilation[0], step = stride / std::gcd(stride, dilation);
  const int64_t groups = std::min(step, g.kernel[0]), places = places_of(grid, images);
  Tensor out;
  for (int64_t tap = 0; tap < groups; ++tap) {
    const int64_t taps = divide_up(g.kernel[0] - tap, step), at = tap * dilation;
    const Tensor sum = shifted(x, x.row(at % stride, at / stride * x.frame.pitch), g.stride[1],
                               slice(w, 2, tap, taps, step), step * dilation / stride, places, groups > 1);
    out = tap ? out + sum : sum;
  }
  return cropped(cast(out, w.dtype()), images, grid, g.result);
}

Tensor correlate_phases(const Pixels& y, const Tensor& w, int64_t images, const Geometry& g, const Phase& p,
                        const Phase& q) {
  const HeightWidth grid = grid_of(g);
  const int64_t pixel = (y.frame.before[0] - p.before) * y.frame.pitch + y.frame.before[1] - q.before;
  return cropped(shifted(y, y.row(0, pixel), 1, w, p.dilation, places_of(grid, images), false), images, grid,
                 {p.count, q.count});
}

// Each row of taps is a product of the result and of the image, shifted. Where a result ends, its pixels are zero.
Tensor weights_of_pixels(const Pixels& x, const Pixels& y, int64_t images, int64_t outputs, int64_t channels,
                         const Geometry& g, bool wide) {
  const int64_t places = places_of(grid_of(g), images), run = g.kernel[1] * x.channels;
  const Tensor gradient = from(y, y.row(0, y.frame.before[0] * y.frame.pitch + y.frame.before[1]));
  std::vector<Tensor> rows;
  for (int64_t tap = 0; tap < g.kernel[0]; ++tap) {
    const int64_t at = tap * g.dilation[0];
    Contraction sizes{{1, outputs}, {run}, {places}};
    sizes.wide = wide;
    rows.push_back(contract(ops::ConvolutionWeight, gradient, {0, 1, 0, y.channels},
                            from(x, x.row(at % x.frame.stride, at / x.frame.stride * x.frame.pitch)),
                            {0, 0, 1, g.stride[1] * x.channels}, sizes, {outputs, g.kernel[1], x.channels}));
  }
  return weights_of_sums(stack(rows, 0), gradient, x, channels,
                         {images, grid_of(g), g.result, g.stride, g.dilation[0]});
}

}  // namespace sg::convolution
