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
  bool avx2 = false;    // AVX2, FMA and F16C
  bool avx512 = false;  // AVX-512 F, DQ, BW and VL, besides these
};
VectorInstructions vector_instructions();

}  // namespace sg::os
