// memcpy by several threads, for transfers: one core moves 12 GB/s into touched pages and 2 into fresh ones.
// The threads live as long as the object: as long as one transfer, so that no fork ever meets them asleep.
#pragma once
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

namespace sg {

class ParallelCopy {
 public:
  explicit ParallelCopy(size_t total_bytes);  // more bytes, more threads; none for small transfers
  ~ParallelCopy();
  ParallelCopy(const ParallelCopy&) = delete;
  ParallelCopy& operator=(const ParallelCopy&) = delete;
  void copy(void* to, const void* from, size_t bytes);  // returns when all is copied

 private:
  void work(size_t part);
  void copy_part(size_t part) const;

  std::vector<std::thread> helpers_;
  std::byte* to_ = nullptr;
  const std::byte* from_ = nullptr;
  size_t bytes_ = 0, parts_ = 1;
  std::atomic<uint32_t> turn_{0}, running_{0};
  bool stop_ = false;
};

}  // namespace sg
