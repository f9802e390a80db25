// How large the caches of this machine are. Only speed depends on it, never a result.
#pragma once
#include <cstdint>

namespace sg::cpu {

// Bytes of the largest cache that a core uses, shared or not; 32 MiB where the system does not say.
int64_t last_cache_bytes();

}  // namespace sg::cpu
