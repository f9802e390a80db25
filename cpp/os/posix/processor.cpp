// The processors on Linux and macOS.
#include "os/processor.hpp"

#if defined(__linux__)
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

#include <algorithm>
#include <fstream>
#include <thread>

namespace sg::os {

bool may_use_tiles() {
#if defined(__linux__) && defined(__x86_64__)
  constexpr int kAsk = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  static const bool may = syscall(SYS_arch_prctl, kAsk, kTileData) == 0;
  return may;
#else
  return false;
#endif
}

int allowed_processors() {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) == 0) return std::max(1, CPU_COUNT(&set));
#endif
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

#if defined(__APPLE__)

std::string processor_name() {
  char name[128];
  size_t size = sizeof name;
  return sysctlbyname("machdep.cpu.brand_string", name, &size, nullptr, 0) == 0 ? name : "CPU";
}

int64_t last_cache_bytes() {
  int64_t bytes = 0;
  size_t size = sizeof bytes;
  for (const char* cache : {"hw.l3cachesize", "hw.perflevel0.l2cachesize", "hw.l2cachesize"})
    if (sysctlbyname(cache, &bytes, &size, nullptr, 0) == 0 && bytes > 0) return bytes;
  return 0;
}

#else

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);)
    if (line.rfind("model name", 0) == 0 && line.find(": ") != std::string::npos)
      return line.substr(line.find(": ") + 2);
  return "CPU";
}

int64_t last_cache_bytes() {
  int64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
    int64_t size = 0;
    char unit = 0;
    if (!(file >> size)) continue;
    file >> unit;
    largest = std::max(largest, size << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0));
  }
  return largest;
}

#endif

}  // namespace sg::os
