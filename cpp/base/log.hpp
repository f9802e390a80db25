// Environment variables and debug output: the one table of SPIROGRAD_* names.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace sg {

struct EnvVariable {
  const char* name;
  const char* fallback;
  const char* doc;
};
const std::vector<EnvVariable>& env_variables();
std::string env(const char* name);    // its value, or the table's fallback
bool env_flag(const char* name);      // "1", "true", "yes", "on"
bool env_off(const char* name);       // "0": of one that is on by default, without a search in the table
int64_t env_bytes(const char* name);  // 1000000, 512MiB, 4G; ValueError for what is no size
int64_t env_whole(const char* name, int64_t least, int64_t most);  // ValueError for what is no such number
double env_positive(const char* name);                             // 0.5, 1e12; ValueError for what is none

// SPIROGRAD_DEBUG: 1 device, pool and new plans, 2 one line a kernel, 3 graph and plan, 4 GLSL, 5 SPIR-V.
int debug_level();
void debug(int level, const std::string& line);  // to stderr, "[spirograd] line"

}  // namespace sg
