// Checks and reshapes what convolutions and pooling are given. Computes nothing.
#include "ops/image.hpp"

#include "base/error.hpp"
#include "ops/list.hpp"

namespace sg {

Dims for_each_dimension(const char* op, const char* what, const Dims& numbers, int dims, int64_t least) {
  if (numbers.rank != dims && numbers.rank != 1)
    fail<ValueError>(op, std::string(what) + " " + numbers.str() + " for " + std::to_string(dims) + " dimension(s)",
                     "give one number, or one for each");
  const Dims all = numbers.rank == dims ? numbers : Dims::filled(dims, numbers[0]);
  for (int64_t n : all)
    if (n < least || n > kMaxElements)
      fail<ValueError>(op, std::string(what) + " " + numbers.str(), "use " + std::to_string(least) + " to 2^48");
  return all;
}

HeightWidth height_and_width(const Dims& numbers, int64_t height) {
  return numbers.rank == 1 ? HeightWidth{height, numbers[0]} : HeightWidth{numbers[0], numbers[1]};
}

void check_image(const char* op, const Tensor& x, int dims) {
  if (x.rank() != dims + 1 && x.rank() != dims + 2)
    fail<ValueError>(op, "input of shape " + x.shape().str(),
                     "give [channels, ...] or [n, channels, ...] with " + std::to_string(dims) + " more dimension(s)");
}

Tensor as_image(const Tensor& x, int dims) {
  const Tensor batch = x.rank() == dims + 1 ? unsqueeze(x, 0) : x;
  return dims == 1 ? unsqueeze(batch, 2) : batch;
}

Tensor from_image(const Tensor& y, int dims, bool batched) {
  const Tensor flat = dims == 1 ? squeeze(y, 2) : y;
  return batched ? flat : squeeze(flat, 0);
}

}  // namespace sg
