// The calling thread copies a part itself; the others wait for the next copy. Knows no device.
#include "device/gpu/memory/parallel_copy.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <system_error>

namespace sg {
namespace {
constexpr size_t kBytesAThread = size_t{2} << 20;
constexpr size_t kMostThreads = 8;
constexpr size_t kPage = 4096;  // parts end at page borders: no two threads touch one fresh page
}  // namespace

ParallelCopy::ParallelCopy(size_t total_bytes) {
  const size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const size_t wanted = std::clamp<size_t>(total_bytes / kBytesAThread, 1, std::min(cores, kMostThreads));
  helpers_.reserve(wanted - 1);
  try {
    for (size_t i = 1; i < wanted; ++i) helpers_.emplace_back([this, i] { work(i); });
  } catch (const std::system_error&) {
    // The system has no more threads: those that started do the work.
  } catch (const std::bad_alloc&) {
  }
  parts_ = helpers_.size() + 1;
}

ParallelCopy::~ParallelCopy() {
  stop_ = true;
  turn_.fetch_add(1, std::memory_order_release);
  turn_.notify_all();
  for (std::thread& t : helpers_) t.join();
}

void ParallelCopy::copy_part(size_t part) const {
  const size_t size = (bytes_ / parts_ + kPage) / kPage * kPage;
  const size_t begin = std::min(part * size, bytes_), end = std::min(begin + size, bytes_);
  if (end > begin) std::memcpy(to_ + begin, from_ + begin, end - begin);
}

void ParallelCopy::work(size_t part) {
  for (uint32_t seen = 0;;) {
    turn_.wait(seen, std::memory_order_acquire);
    seen = turn_.load(std::memory_order_acquire);
    if (stop_) return;
    copy_part(part);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) running_.notify_one();
  }
}

void ParallelCopy::copy(void* to, const void* from, size_t bytes) {
  if (helpers_.empty() || bytes < (size_t{256} << 10)) {
    std::memcpy(to, from, bytes);
    return;
  }
  to_ = static_cast<std::byte*>(to);
  from_ = static_cast<const std::byte*>(from);
  bytes_ = bytes;
  running_.store(static_cast<uint32_t>(helpers_.size()), std::memory_order_relaxed);
  turn_.fetch_add(1, std::memory_order_release);
  turn_.notify_all();
  copy_part(0);
  for (uint32_t left; (left = running_.load(std::memory_order_acquire)) != 0;)
    running_.wait(left, std::memory_order_acquire);
}

}  // namespace sg
