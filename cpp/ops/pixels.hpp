// Images as rows of channels, so that a convolution is a product of shifted rows: docs/decisions/045-shifted-rows.md.
// For ops/convolution*.cpp, on GPUs, of half types.
//
// Each pixel is a row with its channels side by side, zeros up to a multiple of eight. Pixels follow each other as in a
// frame: the image at some distance from the top and the left, zeros behind it, up to the next row and the next image.
// A tap beyond the right edge meets zeros behind a row or those before the next one. With a stride s of rows, every s-th
// row of a frame lies in one plane, so that neighbouring places of the result see rows at one distance.
#pragma once
#include "ops/image.hpp"

namespace sg {

struct Frame {
  HeightWidth before;      // zeros before the image
  int64_t rows, pitch;     // of a plane: rows of one image, and pixels from one row to the next
  int64_t stride, planes;  // of rows
  int64_t plane;           // pixels of a plane, those behind the last image included
};

struct Pixels {
  Tensor rows;  // flat: [planes, pixels of a plane, channels]
  int64_t channels;
  Frame frame;
  int64_t row(int64_t plane, int64_t pixel) const { return (plane * frame.plane + pixel) * channels; }
};

Pixels pixels_of(const Tensor& image, const Frame& frame);

// Where results lie among places, and what their first tap of a row sees: of sizes below 65,536.
struct SeenPlaces {
  int64_t images;
  HeightWidth grid, result, stride;
  int64_t dilation;  // of rows
};
// [output, channel, row of taps, tap] of sums [row of taps, output, tap, channel] over all places, of a gradient's and an
// image's pixels. Those that are not finite are computed from results alone.
Tensor weights_of_sums(const Tensor& sums, const Tensor& gradient, const Pixels& x, int64_t channels,
                       const SeenPlaces& seen);

}  // namespace sg
