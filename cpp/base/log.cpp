// Owns the table of environment variables and reads them; nobody else calls getenv for SPIROGRAD_ names. Knows neither
// devices nor Python.
#include "base/log.hpp"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/error.hpp"
#include "os/process.hpp"

namespace sg {

const std::vector<EnvVariable>& env_variables() {
  static const std::vector<EnvVariable> table = {
      {"SPIROGRAD_DEVICE", "cpu", "Default device: cpu, gpu, gpu:N."},
      {"SPIROGRAD_VISIBLE_DEVICES", "", "Comma-separated GPU numbers to use, in this order; empty: all."},
      {"SPIROGRAD_ALLOW_CPU_VULKAN", "0", "1: a software Vulkan driver counts as a GPU."},
      {"SPIROGRAD_VULKAN_LIB", "", "Path of the Vulkan loader library; empty: the system's."},
      {"SPIROGRAD_TIMEOUT", "60", "Seconds without progress after which a wait gives up."},
      {"SPIROGRAD_COLLECTIVE_TIMEOUT", "600", "Seconds that a collective waits for other processes."},
      {"SPIROGRAD_CACHE", "", "Folder for compiled kernels; empty: the user's cache folder; 0: no cache on disk."},
      {"SPIROGRAD_CACHE_LIMIT", "1GiB", "The most bytes of compiled kernels on disk, the oldest go; 0: no limit."},
      {"SPIROGRAD_DATA", "", "Folder where the data set loaders look before they download."},
      {"SPIROGRAD_FUSE", "1", "0: one kernel per operation."},
      {"SPIROGRAD_CUT", "0", "N: also cuts what is pending, at a random place, at every Nth call on average."},
      {"SPIROGRAD_BARRIER", "hazards",
       "all: a full barrier between any two kernels; drop, reverse: none, other orders (tests only)."},
      {"SPIROGRAD_SUBMISSION_COST", "",
       "Bytes and operations of one submission, in which at least one kernel is; empty: what the device's kind takes."},
      {"SPIROGRAD_SPECIALIZE", "16",
       "Runs of a plan before its kernels that compile quickly are replaced by faster ones; 0: at once; -1: never."},
      {"SPIROGRAD_SHUFFLES", "1", "0: the threads of a kernel exchange values through shared memory only."},
      {"SPIROGRAD_MATRIX", "cm2",
       "How half types and float32 attention reach matrix units at most: cm2, cm1 or none (float32, also on a CPU)."},
      {"SPIROGRAD_RECURRENT", "",
       "Workgroups of a recurrent layer that wait for each other at each step; 0: one launch a step; empty: by "
       "device."},
      {"SPIROGRAD_TILES", "",
       "Whose tiles kernels use: nvidia, nvk, amd, gcn, intel, apple, mobile, software; empty: the device's own."},
      {"SPIROGRAD_ADDRESSES", "pointers",
       "pairs: kernels know addresses as two words, and offsets of 32 bits (tests only)."},
      {"SPIROGRAD_STRICT", "0", "1: whatever would fall back to a slower path raises."},
      {"SPIROGRAD_VALIDATION", "", "core, sync or gpu: run under the Vulkan validation layer; any message raises."},
      {"SPIROGRAD_TAPE", "", "float32: scalar Values on a GPU in float32; mistake: with wrong sums (tests only)."},
      {"SPIROGRAD_PROXY", "0", "1: replace each kernel by one that declares its reads and writes (tests only)."},
      {"SPIROGRAD_THREADS", "0", "CPU threads; 0: as many as the process may use."},
      {"SPIROGRAD_MEMORY_LIMIT", "0",
       "The most bytes of device memory to use, such as 8589934592 or 8GiB; 0: no limit."},
      {"SPIROGRAD_FAULTS", "",
       "Vulkan calls that fail: see cpp/device/gpu/driver/faults.hpp (tests and debugging only)."},
      {"SPIROGRAD_BOUNDS", "0", "1: check before each run that its kernels stay within their memory."},
      {"SPIROGRAD_SYNC", "0", "1: each call runs before it returns, so that errors are raised at its line."},
      {"SPIROGRAD_POISON", "0", "1: unwritten memory is full of NaN; on the CPU, a guard page follows each block."},
      {"SPIROGRAD_LINES", "",
       "1: plans and graphs say which line recorded what; 0: they do not; empty: they do where Python is interactive."},
      {"SPIROGRAD_DEBUG", "0",
       "What to print: 1 device, pool and new plans; 2 kernels; 3 graph and plan; 4 GLSL; 5 SPIR-V."},
  };
  return table;
}

std::string env(const char* name) {
  if (std::string value = os::variable(name); !value.empty()) return value;
  for (const EnvVariable& v : env_variables())
    if (!std::strcmp(v.name, name)) return v.fallback;
  return "";
}

bool env_flag(const char* name) {
  const std::string v = env(name);
  return v == "1" || v == "true" || v == "yes" || v == "on";
}

bool env_off(const char* name) { return os::variable(name) == "0"; }

int64_t env_bytes(const char* name) {
  constexpr const char* kUnits = "KMGT";
  const std::string text = env(name);
  int64_t bytes = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, bytes);
  if (rest != end && std::strchr(kUnits, *rest)) {
    const auto times = static_cast<int>(std::strchr(kUnits, *rest++) - kUnits + 1);
    bytes = bytes < (int64_t{1} << 20) ? bytes << 10 * times : -1;
    if (rest != end && *rest == 'i') ++rest;
  }
  if (rest != end && *rest == 'B') ++rest;
  if (error != std::errc() || rest != end || bytes < 0)
    fail<ValueError>(name, "'" + text + "' is no number of bytes", "write 536870912 or 512MiB");
  return bytes;
}

int64_t env_whole(const char* name, int64_t least, int64_t most) {
  const std::string text = env(name);
  int64_t number = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || rest != end || number < least || number > most)
    fail<ValueError>(name,
                     "'" + text + "' is no whole number from " + std::to_string(least) + " to " + std::to_string(most),
                     "write one, or leave the variable out");
  return number;
}

double env_positive(const char* name) {
  const std::string text = env(name);
  char* rest = nullptr;
  const double number = std::strtod(text.c_str(), &rest);
  if (rest != text.c_str() + text.size() || !(number > 0) || !std::isfinite(number))
    fail<ValueError>(name, "'" + text + "' is no positive number", "write one, or leave the variable out");
  return number;
}

int debug_level() {  // the CPU's device has checked it
  static const int level = std::atoi(env("SPIROGRAD_DEBUG").c_str());
  return level;
}

void debug(int level, const std::string& line) {
  if (debug_level() >= level) std::fprintf(stderr, "[spirograd] %s\n", line.c_str());
}

}  // namespace sg
