// Owns the answer, asked of the processor once.
#include "base/processor.hpp"

#include "base/log.hpp"
#include "os/processor.hpp"

namespace sg {

bool multiplies_bfloat16() {
  static const bool does = os::vector_instructions().bfloat16 && env("SPIROGRAD_MATRIX") != "none";
  return does;
}

}  // namespace sg
