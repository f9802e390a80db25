// Compares address ranges; a range that is only read needs no barrier. Knows no Vulkan.
#include "device/gpu/record/hazard.hpp"

#include <algorithm>

namespace sg {
namespace {

bool overlap(const std::vector<AddressRange>& a, const std::vector<AddressRange>& b) {
  for (const AddressRange& x : a)
    for (const AddressRange& y : b)
      if (x.begin < y.end && y.begin < x.end && x.begin < x.end && y.begin < y.end) return true;
  return false;
}

void append(std::vector<AddressRange>& to, const std::vector<AddressRange>& ranges) {
  for (const AddressRange& r : ranges)
    if (r.begin < r.end && std::find(to.begin(), to.end(), r) == to.end()) to.push_back(r);
}

}  // namespace

bool HazardTracker::conflicts(const std::vector<AddressRange>& reads, const std::vector<AddressRange>& writes) const {
  return overlap(reads, writes_) || overlap(writes, writes_) || overlap(writes, reads_);
}

void HazardTracker::add(const std::vector<AddressRange>& reads, const std::vector<AddressRange>& writes) {
  append(reads_, reads);
  append(writes_, writes);
}

void HazardTracker::clear() {
  reads_.clear();
  writes_.clear();
}

}  // namespace sg
