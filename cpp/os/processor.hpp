// The processors of this machine.
// Threads: any.
#pragma once
#include <cstdint>
#include <string>

namespace sg::os {

int allowed_processors();      // on which this process may run; at least 1
std::string processor_name();  // such as "AMD EPYC"; "CPU" where it is not known
int64_t last_cache_bytes();    // of the largest cache; 0 where it is not known

// The sets of vector instructions for which device/cpu is compiled. Only what the operating system saves counts.
struct VectorInstructions {
  bool avx2 = false;      // AVX2, FMA and F16C
  bool avx512 = false;    // AVX-512 F, DQ, BW and VL, besides these
  bool bfloat16 = false;  // AVX512-BF16, besides all of these
  bool tiles = false;     // AMX-TILE and AMX-BF16, besides all of these
};
VectorInstructions vector_instructions();
bool may_use_tiles();  // asks the operating system to save them, once, for the whole process

}  // namespace sg::os
