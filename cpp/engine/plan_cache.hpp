// Plans by the structure of the log that made them. A hit is confirmed by comparing the whole key.
// Threads: under the engine lock.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "device/device.hpp"
#include "schedule/schedule.hpp"

namespace sg {

struct CachedPlan {
  std::vector<uint64_t> key;
  std::shared_ptr<const Plan> plan;
  std::vector<int32_t> output_nodes;  // node of each output
  std::shared_ptr<Prepared> prepared;
  uint64_t last_use = 0;
  int64_t bytes = 0;   // of key and plan
  bool found = false;  // at least once after it was made
};

// Two levels. Plans are found by the whole key, sizes included. Sketches are found by the structure, the key without
// sizes, and are what a plan of other sizes is bound from; they own no device memory and survive clear().
class PlanCache {
 public:
  static constexpr size_t kCapacity = 256;
  static constexpr int64_t kBytes = 96 << 20;  // of plans that were never found again, with what devices keep for them
  std::shared_ptr<const CachedPlan> find(uint64_t hash, const std::vector<uint64_t>& key);  // nullptr: not there
  std::shared_ptr<const CachedPlan> insert(uint64_t hash, CachedPlan entry);  // the least recently used makes room
  int times_missed(uint64_t hash);  // how often this was asked before; old questions are forgotten
  // How many words this key and that of the nearest plan have in common at the beginning.
  size_t common_with_nearest(const std::vector<uint64_t>& key) const;
  void clear() { entries_.clear(); }  // not the sketches, which own no device memory
  // The sketches of a structure, latest first.
  const std::vector<std::shared_ptr<const Sketch>>& sketches(const Structure& structure);
  void insert(const Structure& structure, std::shared_ptr<const Sketch> sketch);
  size_t size() const { return entries_.size(); }
  int64_t bytes() const;

 private:
  static constexpr size_t kMissed = 4096;
  static constexpr size_t kStructures = 64, kSketches = 8;  // of one structure
  struct Sketches {
    Structure structure;
    std::vector<std::shared_ptr<const Sketch>> list;
    uint64_t last_use = 0;
  };
  Sketches& of(const Structure& structure);
  void drop_useless();

  std::unordered_multimap<uint64_t, std::shared_ptr<CachedPlan>> entries_;  // one that is dropped may be running
  std::vector<Sketches> sketches_;
  std::unordered_map<uint64_t, int> missed_;
  // Counts uses; it never goes back, so the least number is the least recently used.
  uint64_t clock_ = 0;
};

}  // namespace sg
