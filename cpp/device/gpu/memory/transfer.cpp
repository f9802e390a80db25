// Owns the staging memory and the order of its chunks: a chunk is filled again only after the device has read it. Knows
// no tensors.
#include "device/gpu/memory/transfer.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "device/gpu/driver/check.hpp"
#include "device/gpu/memory/parallel_copy.hpp"
#include "os/memory.hpp"

namespace sg {
namespace {

constexpr uint64_t kAlways = UINT64_MAX;  // free_at of a buffer in use: whatever is submitted by then
constexpr size_t kSmallestChunk = size_t{64} << 10, kLargestChunk = size_t{8} << 20;

// At least four chunks, if each is then still large enough to be worth a submission.
size_t chunk_size(size_t bytes) {
  if (bytes <= (size_t{1} << 20)) return std::max(bytes, kSmallestChunk);
  const size_t quarter = (bytes / 4 + 0xFFFF) & ~size_t{0xFFFF};
  return std::clamp(quarter, size_t{1} << 20, kLargestChunk);
}

// A download into new memory waits mostly for fresh pages, so large ones are asked for: a hint that the kernel may
// ignore.
void prefer_large_pages(void* to, size_t bytes) {
  constexpr uintptr_t kLargePage = uintptr_t{2} << 20;
  const uintptr_t begin = (reinterpret_cast<uintptr_t>(to) + kLargePage - 1) / kLargePage * kLargePage;
  const uintptr_t end = (reinterpret_cast<uintptr_t>(to) + bytes) / kLargePage * kLargePage;
  if (end > begin) os::prefer_large_pages(reinterpret_cast<void*>(begin), end - begin);
}

void copy(VkCommandBuffer commands, VkBuffer from, size_t from_at, VkBuffer to, size_t to_at, size_t bytes) {
  VkBufferCopy region{};
  region.srcOffset = from_at;
  region.dstOffset = to_at;
  region.size = bytes;
  vkCmdCopyBuffer(commands, from, to, 1, &region);
}

}  // namespace

Transfer::Transfer(const Context& context, Queue& queue, Timing& timing, Queue* copies, Timing* copy_timing)
    : context_(context), queue_(queue), timing_(timing), copies_(copies), copy_timing_(copy_timing) {}

void Transfer::expect(GpuBuffer& buffer) {
  if (copies_) queue_.run_after(*copies_, buffer.arrives);
  buffer.free_at = kAlways;
}

void Transfer::expect_all() {
  if (copies_) queue_.run_after(*copies_, copies_->submitted());
}

void Transfer::prepare(Queue& queue, uint32_t family, Chunk& chunk, size_t bytes, bool interruptible) {
  queue.wait(chunk.value, interruptible);
  if (!chunk.pool) chunk.pool = make_command_pool(context_, family);
  if (!chunk.commands) chunk.commands = make_command_buffer(context_, chunk.pool);  // failed after the pool was made
  if (chunk.memory.bytes < bytes) {
    free_host_buffer(context_, chunk.memory);
    chunk.memory = make_host_buffer(context_, bytes, HostUse::staging);
  }
}

// Large uploads leave in chunks, each its own submission, on the copying queue if there is one: kernels that do not
// read the buffer go on meanwhile.
void Transfer::upload(GpuBuffer& to, const void* from, size_t bytes) {
  const size_t size = chunk_size(bytes);
  Queue& queue = copies_ ? *copies_ : queue_;
  Timing& timing = copies_ ? *copy_timing_ : timing_;
  const uint32_t family = copies_ ? context_.physical.copy_family : context_.physical.family;
  if (copies_) {  // whoever used the destination before
    queue.run_after(queue_, std::min(to.free_at, queue_.submitted()));
    queue.run_after(queue, to.arrives);
  }
  ParallelCopy copier(bytes);
  size_t turn = 0;
  for (size_t at = 0; at < bytes; at += size, turn = (turn + 1) % up_.size()) {
    const size_t n = std::min(size, bytes - at);
    Chunk& chunk = up_[turn];
    prepare(queue, family, chunk, std::max(n, kSmallestChunk), false);
    copier.copy(chunk.memory.mapped, static_cast<const std::byte*>(from) + at, n);
    vk_check(vkResetCommandPool(context_.device, chunk.pool, 0), "vkResetCommandPool");
    begin_commands(chunk.commands);
    if (at == 0 && !copies_) barrier(chunk.commands);  // likewise
    Timing::BatchRef times = timing.begin(chunk.commands, 1);
    copy(chunk.commands, chunk.memory.handle, 0, to.handle, at, n);
    timing.after(times, chunk.commands, {"Memcpy HtoD", "", "gpu_memcpy", static_cast<int64_t>(n)});
    end_commands(chunk.commands);
    chunk.value = queue.submit(chunk.commands);
    if (copies_) to.arrives = chunk.value;
    timing.submitted(std::move(times), chunk.value);
  }
}

uint64_t Transfer::start_download(Chunk& chunk, const GpuBuffer& from, size_t offset, size_t bytes) {
  vk_check(vkResetCommandPool(context_.device, chunk.pool, 0), "vkResetCommandPool");
  begin_commands(chunk.commands);
  barrier(chunk.commands);
  Timing::BatchRef times = timing_.begin(chunk.commands, 1);
  copy(chunk.commands, from.handle, offset, chunk.memory.handle, 0, bytes);
  timing_.after(times, chunk.commands, {"Memcpy DtoH", "", "gpu_memcpy", static_cast<int64_t>(bytes)});
  barrier_to_host(chunk.commands);
  end_commands(chunk.commands);
  chunk.value = queue_.submit(chunk.commands);
  timing_.submitted(std::move(times), chunk.value);
  return chunk.value;
}

// Up to three chunks ahead: while the host copies one out of mapped memory, the device fills the next ones.
void Transfer::download(void* to, GpuBuffer& from, size_t offset, size_t bytes) {
  const std::lock_guard lock(download_mutex_);
  queue_.check("download");  // the device may have been lost, and its buffers given up, while this waited
  const size_t size = chunk_size(bytes);
  ParallelCopy copier(bytes);
  if (bytes > kLargestChunk) prefer_large_pages(to, bytes);
  const auto start = [&](size_t at, size_t turn) {
    const size_t n = std::min(size, bytes - at);
    prepare(queue_, context_.physical.family, down_[turn], std::max(n, kSmallestChunk), true);
    expect(from);
    start_download(down_[turn], from, offset + at, n);
  };
  size_t ahead = 0;
  for (size_t turn = 0; turn < down_.size() && ahead < bytes; ++turn, ahead += size) start(ahead, turn);
  size_t turn = 0;
  for (size_t at = 0; at < bytes; at += size, turn = (turn + 1) % down_.size()) {
    queue_.wait(down_[turn].value, true);
    copier.copy(static_cast<std::byte*>(to) + at, down_[turn].memory.mapped, std::min(size, bytes - at));
    if (ahead < bytes) {
      start(ahead, turn);
      ahead += size;
    }
  }
}

}  // namespace sg
