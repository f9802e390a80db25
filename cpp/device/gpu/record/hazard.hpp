// Where a barrier is needed: ranges of device addresses read and written since the last one. Pure; one a recording.
// Addresses, not plan indices, because two leaves may be one buffer, an output may take over its leaf's memory and
// temporaries share the arena.
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace sg {

struct AddressRange {
  uint64_t begin = 0, end = 0;  // half open; empty ranges touch nothing
  bool operator==(const AddressRange&) const = default;
};

// SPIROGRAD_BARRIER: where needed; everywhere; nowhere; where needed, with the kernels between two in reverse order.
enum class BarrierMode : uint8_t { hazards, all, drop, reverse };

// Reads beside reads never conflict. Ranges are compared pair by pair: between two barriers there are few.
class HazardTracker {
 public:
  // True when a step that reads and writes these must wait for what was added since the last clear().
  bool conflicts(const std::vector<AddressRange>& reads, const std::vector<AddressRange>& writes) const;
  void add(const std::vector<AddressRange>& reads, const std::vector<AddressRange>& writes);
  void clear();
  size_t size() const { return reads_.size() + writes_.size(); }

 private:
  std::vector<AddressRange> reads_, writes_;
};

}  // namespace sg
