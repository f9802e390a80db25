// What convolutions and pooling have in common; for ops/ only. People call them with one dimension or two, and with or
// without n; inside, an image is [n, channels, height, width], and one dimension is an image of height 1.
#pragma once
#include "graph/tensor.hpp"

namespace sg {

// One number for height, one for width.
struct HeightWidth {
  int64_t height = 0, width = 0;

  int64_t& operator[](int d) { return d ? width : height; }
  int64_t operator[](int d) const { return d ? width : height; }
  int64_t numel() const { return height * width; }
  bool operator==(const HeightWidth&) const = default;
  operator Dims() const { return {height, width}; }
};

// One number for each of `dims` dimensions, each at least `least`; one number is for all. `what` is its name in errors.
Dims for_each_dimension(const char* op, const char* what, const Dims& numbers, int dims, int64_t least);
// The same for height and width; `height` is that of an image of one dimension.
HeightWidth height_and_width(const Dims& numbers, int64_t height);

void check_image(const char* op, const Tensor& x, int dims);  // [channels, ...] or [n, channels, ...]
Tensor as_image(const Tensor& x, int dims);
Tensor from_image(const Tensor& y, int dims, bool batched);  // back to the shape that the input came in

}  // namespace sg
