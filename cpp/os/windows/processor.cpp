// The processors on Windows.
#include "os/processor.hpp"

#include <windows.h>

#include <algorithm>
#include <bit>
#include <thread>
#include <vector>

namespace sg::os {

bool may_use_tiles() { return false; }  // nobody has tried

// Of a machine with more than 64 processors, those of this process's group count, as for its threads.
int allowed_processors() {
  DWORD_PTR own = 0, all = 0;
  if (GetProcessAffinityMask(GetCurrentProcess(), &own, &all) && own != 0) return std::popcount(uint64_t{own});
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

std::string processor_name() {
  char name[128];
  DWORD size = sizeof name;
  const LSTATUS status = RegGetValueA(HKEY_LOCAL_MACHINE, "HARDWARE\\DESCRIPTION\\System\\CentralProcessor\\0",
                                      "ProcessorNameString", RRF_RT_REG_SZ, nullptr, name, &size);
  return status == ERROR_SUCCESS ? name : "CPU";
}

int64_t last_cache_bytes() {
  DWORD bytes = 0;
  GetLogicalProcessorInformation(nullptr, &bytes);
  std::vector<SYSTEM_LOGICAL_PROCESSOR_INFORMATION> facts(bytes / sizeof(SYSTEM_LOGICAL_PROCESSOR_INFORMATION));
  if (facts.empty() || !GetLogicalProcessorInformation(facts.data(), &bytes)) return 0;
  int64_t largest = 0;
  for (const auto& fact : facts)
    if (fact.Relationship == RelationCache) largest = std::max<int64_t>(largest, fact.Cache.Size);
  return largest;
}

}  // namespace sg::os
