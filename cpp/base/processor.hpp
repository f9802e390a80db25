// What the processor can do that an op has to know. Threads: any.
#pragma once

namespace sg {

// Whether products of bfloat16 on the CPU read bfloat16. Elsewhere, and with SPIROGRAD_MATRIX=none, their operands are
// widened first.
bool multiplies_bfloat16();

}  // namespace sg
