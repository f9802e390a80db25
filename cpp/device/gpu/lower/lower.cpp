// Checks that the device's shaders support what a step needs, and picks the pass that writes its kernel.
#include "device/gpu/lower/lower.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "device/gpu/lower/glsl_kernel.hpp"
#include "device/gpu/lower/shaders.hpp"

namespace sg {
namespace {

// Whether shaders can have tensors of a type.
void check_type(const Step& step, DType t, const Features& f) {
  const char* instead = is_float(t) ? "use float32, or the CPU device" : "use int32, or the CPU device";
  const std::string type = name_of(t);
  if (!f.float64 && t == DType::float64)
    fail<LimitError>(step.name, "the device has no float64 in shaders", "use float32, or the CPU device");
  if (!f.storage8 && size_of(t) == 1)
    fail<LimitError>(step.name, "the device cannot address single bytes, " + type + " tensors need that", instead);
  if (!f.storage16 && size_of(t) == 2)
    fail<LimitError>(step.name, "the device cannot address 2-byte elements, " + type + " tensors need that", instead);
}

void check_features(const Step& step, const Features& f) {
  const Kernel& k = step.only().kernel;
  if (k.kind == Kernel::Kind::custom) {
    for (const CustomKernel::Tensor& t : k.custom->tensors) check_type(step, t.dtype, f);
    return;
  }
  const Program& p = k.elementwise();
  if (!f.int64) fail<LimitError>(step.name, "the device has no 64-bit integers in shaders", "use the CPU device");
  if (!f.float64 && glsl::uses(p, DType::float64))
    fail<LimitError>(step.name, "the device has no float64 in shaders", "use float32, or the CPU device");
  if (k.kind == Kernel::Kind::product) check_type(step, k.product->dtype, f);
  for (const View& v : p.views)
    if (v.binding >= 0) check_type(step, v.dtype, f);
}

}  // namespace

Lowered lower(const Step& step, const Features& features, Fit fit, Shaders& shaders) {
  const Kernel& kernel = step.only().kernel;
  if (kernel.kind == Kernel::Kind::copy)
    fail<Error>(step.name, "a copy of whole buffers has no kernel", "record it as a buffer copy");
  check_features(step, features);
  if (kernel.kind == Kernel::Kind::custom) return glsl::lower_custom(step, features, shaders);
  const bool pointwise = kernel.kind == Kernel::Kind::program && kernel.program.inner == 0;
  if (step.instances.size() > 1 && !pointwise)
    fail<Error>(step.name, "only pointwise steps run over several tensors, this one has rows or a product",
                "report this");
  if (kernel.kind == Kernel::Kind::product) return glsl::lower_product(step, features, fit, shaders);
  return pointwise ? glsl::lower_pointwise(step, features, shaders) : glsl::lower_rows(step, features, fit, shaders);
}

Lowered lower(const Step& step, const Features& features, Fit fit) {
  Shaders none;
  return lower(step, features, fit, none);
}

}  // namespace sg
