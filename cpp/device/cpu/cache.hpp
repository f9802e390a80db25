// How large the caches of this machine are. Speed depends on it, results do not.
#pragma once
#include <cstdint>

namespace sg::cpu {

// Of the largest cache that one core has a part in; 32 MiB where the system does not say.
int64_t last_cache_bytes();

}  // namespace sg::cpu
