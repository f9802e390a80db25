// What the files of convolutions share. For ops/convolution*.cpp.
#pragma once
#include <cstdint>
#include <vector>

#include "kernel/features.hpp"
#include "ops/pixels.hpp"

namespace sg::convolution {

// What a convolution and both of its gradients share; their attributes.
struct Geometry {
  HeightWidth stride, padding, dilation;
  HeightWidth image, kernel, result;
  int64_t groups = 1;

  // How many elements a kernel spans, first and last included.
  int64_t reach(int d) const;
};

// Which taps of a kernel touch the elements first, first + stride, first + 2 stride ... of the image.
struct Phase {
  int64_t place = 0;                      // the first of these elements
  int64_t first = 0, step = 1, taps = 0;  // of the kernel
  int64_t dilation = 1, before = 0;       // of the convolution of the gradient with them
  int64_t count = 0;                      // elements of the image
  int64_t reach() const { return count + dilation * (taps - 1); }
};
// The phases that some tap reaches; elements of other residues get no gradient.
std::vector<Phase> phases_of(const Geometry& g, int d);

// What ops do not know of a device. Whoever knows devices says once, when the module is loaded, where to ask.
const Features& features_of(DeviceId device);
void ask_for_features(const Features& (*of_a_device)(DeviceId));
// From now on any GPU takes the ways below wherever they lead to the result, whatever the sizes; returns whether it did.
// For tests.
bool ignore_sizes(bool ignore);
bool ignores_sizes();

// ---- as products of shifted rows (convolution_pixels.cpp) --------------------------------------------------------------
// Whether they are worth it.
bool through_pixels(const Tensor& image, const Tensor& other, int64_t outputs, const Geometry& g);

Pixels pixels_of_image(const Tensor& x, const Geometry& g);
Pixels pixels_of_result(const Tensor& y, const Geometry& g);
// [n, output, place] = sum over channels and taps.
Tensor correlate_pixels(const Pixels& x, const Tensor& w, int64_t images, const Geometry& g);
// The same of a result's pixels and of the taps of one phase along each dimension: some of the image's gradient.
Tensor correlate_phases(const Pixels& y, const Tensor& w, int64_t images, const Geometry& g, const Phase& p,
                        const Phase& q);
// [output, channel, tap] = sum over images and places.
Tensor weights_of_pixels(const Pixels& x, const Pixels& y, int64_t images, int64_t outputs, int64_t channels,
                         const Geometry& g, bool wide);

// ---- with fewer multiplications (convolution_winograd.cpp) -------------------------------------------------------------
// Whether that is worth it; `image` is what is seen through 3 x 3 windows, `outputs` come from it.
bool through_winograd(const Tensor& image, const Tensor& other, int64_t outputs, const Geometry& g);
Tensor correlate_winograd(const Tensor& x, const Tensor& w, const Geometry& g);
Tensor image_gradient_winograd(const Tensor& y, const Tensor& w, const Geometry& g);
Tensor weights_winograd(const Tensor& x, const Tensor& y, const Geometry& g);

// ---- with few channels a group (convolution_grouped.cpp) ---------------------------------------------------------------
// `outputs`, or channels of the image, come from `image`; `other` is the second factor.
bool through_groups(const Tensor& image, const Tensor& other, int64_t outputs, const Geometry& g);
Tensor correlate_groups(const Tensor& x, const Tensor& w, const Geometry& g);
Tensor image_gradient_groups(const Tensor& y, const Tensor& w, const Geometry& g);
// In float32.
Tensor weights_groups(const Tensor& x, const Tensor& y, const Geometry& g);

}  // namespace sg::convolution
