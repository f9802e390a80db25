// Owns one VkQueue, its timeline and its slots of command buffers. A submission that was accepted is waited for or
// declared lost, never forgotten.
#include "device/gpu/queue/queue.hpp"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/error.hpp"
#include "base/host.hpp"
#include "base/log.hpp"
#include "base/profile.hpp"
#include "device/gpu/driver/check.hpp"
#include "device/gpu/driver/instance.hpp"
#include "device/gpu/driver/validation.hpp"

namespace sg {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSpin = std::chrono::microseconds(80);  // a submission and its wait take 29 to 38 us on an H200
constexpr auto kSlice = std::chrono::milliseconds(50);

}  // namespace

// A queue for copies has no slots: transfers bring command buffers of their own.
Queue::Queue(const Context& context, Use use)
    : context_(context),
      handle_(use == Use::work ? context.queue : context.copies),
      busy_(context),
      measured_(use == Use::work),
      timeout_seconds_(env_positive("SPIROGRAD_TIMEOUT")) {
  VkSemaphoreTypeCreateInfo type{};
  type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
  type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
  VkSemaphoreCreateInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
  info.pNext = &type;
  vk_check(vkCreateSemaphore(context.device, &info, nullptr, &timeline_), "vkCreateSemaphore");
  if (use == Use::copies) return;
  for (Slot& slot : slots_) {
    slot.index = static_cast<size_t>(&slot - slots_.data());
    slot.pool = make_command_pool(context, context.physical.family);
    slot.buffers.push_back(make_command_buffer(context, slot.pool));
    slot.arguments = make_host_buffer(context, 64 << 10, HostUse::arguments);
  }
}

void Queue::check(const char* op) {
  check_fork(op);
  context_.health->check(op);
  throw_validation();
}

void Queue::result(VkResult r, const char* call, const char* op) {
  if (r >= 0) return;
  if (r != VK_ERROR_DEVICE_LOST) throw_vk(r, std::string(call) + " on " + context_.name());
  context_.health->note_lost(std::string(call) + " answered " + name_of(r));
  context_.health->raise(op);
}

// The slots are used in turn, so waiting for this one bounds the work in flight to the number of slots.
Slot& Queue::next() {
  Slot& slot = slots_[next_];
  wait(slot.value, false);
  slot.open = false;  // what failed halfway
  return slot;
}

void Queue::open(Slot& slot) {
  vk_check(vkResetCommandPool(context_.device, slot.pool, 0), "vkResetCommandPool");
  if (slot.descriptors) vk_check(vkResetDescriptorPool(context_.device, slot.descriptors, 0), "vkResetDescriptorPool");
  slot.used = 0;
  slot.open = true;
  open_next(slot);
}

// Command buffers of a slot are reset together with its pool and used again.
void Queue::open_next(Slot& slot) {
  if (slot.used > 0) end_commands(slot.commands);
  if (slot.used == slot.buffers.size()) slot.buffers.push_back(make_command_buffer(context_, slot.pool));
  slot.commands = slot.buffers[slot.used];
  begin_commands(slot.commands);
  ++slot.used;
}

Slot& Queue::begin() {
  Slot& slot = next();
  open(slot);
  return slot;
}

void Queue::Submission::add(VkCommandBuffer buffer) {
  VkCommandBufferSubmitInfo& info = commands[count++];
  info = {};
  info.sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO;
  info.commandBuffer = buffer;
}

void Queue::Submission::add_first(VkCommandBuffer buffer) {
  add(buffer);
  std::rotate(commands, commands + count - 1, commands + count);
}

uint64_t Queue::submit(Slot& slot, std::span<const VkCommandBuffer> kept, Names kernels) {
  if (slot.open) end_commands(slot.commands);
  const std::lock_guard lock(mutex_);
  submissions_.clear();
  for (size_t i = 0; slot.open && i < slot.used; ++i) submissions_.emplace_back().add(slot.buffers[i]);
  if (submissions_.empty()) submissions_.emplace_back();
  for (VkCommandBuffer commands : kept) {
    if (commands != kept.front()) submissions_.emplace_back();
    submissions_.back().add(commands);
  }
  slot.value = submit(std::move(kernels));
  slot.open = false;
  next_ = (next_ + 1) % slots_.size();
  return slot.value;
}

uint64_t Queue::submit(VkCommandBuffer commands) {
  const std::lock_guard lock(mutex_);
  submissions_.clear();
  submissions_.emplace_back().add(commands);
  return submit(Names());
}

// One wait for each queue is enough: a timeline that has reached a value has reached all before it.
void Queue::run_after(Queue& other, uint64_t value) {
  if (other.completed_.load(std::memory_order_acquire) >= value) return;
  const std::lock_guard lock(mutex_);
  for (Before& b : before_)
    if (b.queue == &other) {
      b.value = std::max(b.value, value);
      return;
    }
  before_.push_back({&other, value});
}

// In one call: the driver takes all of them, or none, or the device is lost.
uint64_t Queue::submit(Names kernels) {
  const Stage stage("submit", "stage", context_.id);
  uint64_t value = submitted_.load(std::memory_order_relaxed);
  VkSemaphoreSubmitInfo waits[2]{};
  for (size_t i = 0; i < before_.size(); ++i) {
    waits[i].sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO;
    waits[i].semaphore = before_[i].queue->timeline_;
    waits[i].value = before_[i].value;
    waits[i].stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  }
  BusyTime::Stamps* stamps = measured_ ? busy_.next(completed_.load(std::memory_order_relaxed)) : nullptr;
  if (stamps) {
    submissions_.front().add_first(stamps->first);
    submissions_.back().add(stamps->last);
  }
  infos_.clear();
  for (Submission& s : submissions_) {
    s.signal = {};
    s.signal.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO;
    s.signal.semaphore = timeline_;
    s.signal.value = ++value;
    s.signal.stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    VkSubmitInfo2& info = infos_.emplace_back();
    info = {};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
    info.commandBufferInfoCount = s.count;
    info.pCommandBufferInfos = s.commands;
    info.signalSemaphoreInfoCount = 1;
    info.pSignalSemaphoreInfos = &s.signal;
  }
  infos_.front().waitSemaphoreInfoCount = static_cast<uint32_t>(before_.size());
  infos_.front().pWaitSemaphoreInfos = waits;
  // Before the call: a thread that waits may see the new values as soon as the driver has them.
  promised_.store(value, std::memory_order_release);
  if (kernels) context_.health->note_flight(completed_, value, std::move(kernels));
  result(vkQueueSubmit2(handle_, static_cast<uint32_t>(infos_.size()), infos_.data(), VK_NULL_HANDLE), "vkQueueSubmit2",
         "submit");
  submitted_.store(value, std::memory_order_release);
  if (stamps) stamps->value = value;
  before_.clear();
  count_ += static_cast<int64_t>(infos_.size());
  return value;
}

// For a lost device some drivers report that everything is done, even more than was submitted.
uint64_t Queue::completed() {
  uint64_t value = 0;
  result(vkGetSemaphoreCounterValue(context_.device, timeline_, &value), "vkGetSemaphoreCounterValue", "wait");
  if (const uint64_t most = promised_.load(std::memory_order_acquire); value > most) {
    context_.health->note_lost("the driver says that " + std::to_string(value) + " submissions are done, of " +
                               std::to_string(most));
    context_.health->raise("wait");
  }
  uint64_t seen = completed_.load(std::memory_order_relaxed);
  while (seen < value && !completed_.compare_exchange_weak(seen, value, std::memory_order_release)) {
  }
  return value;
}

// Short work is waited for by asking again and again, because sleeping and waking cost more. After that the driver
// waits, in slices, so that a lost device, Ctrl-C and the time-out are noticed.
void Queue::wait(uint64_t value, bool interruptible) {
  if (completed_.load(std::memory_order_acquire) >= value) return;
  const Stage stage("wait", "stage", context_.id);
  const auto start = Clock::now();
  do {
    if (completed() >= value) return;
  } while (Clock::now() - start < kSpin);

  uint64_t reached = completed();
  auto progress = Clock::now();
  while (reached < value) {
    context_.health->check("wait");
    const VkResult r = wait_once(value, kSlice);
    if (r == VK_ERROR_OUT_OF_HOST_MEMORY || r == VK_ERROR_OUT_OF_DEVICE_MEMORY)  // of the wait, not of the work
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    else
      result(r, "vkWaitSemaphores", "wait");
    const uint64_t now = completed();
    if (now > reached) progress = Clock::now();
    reached = now;
    if (reached >= value) break;
    if (interruptible) host().check_interrupts();
    if (std::chrono::duration<double>(Clock::now() - progress).count() > timeout_seconds_) give_up(value);
  }
}

// The device is marked as hung: nothing waits for it again, and its memory is never freed while it may still run.
void Queue::give_up(uint64_t value) {
  context_.health->note_hung("submission " + std::to_string(value) + " made no progress for " +
                             std::to_string(timeout_seconds_) + " s");
  context_.health->raise("wait");
}

bool Queue::ended(std::chrono::milliseconds limit) noexcept {
  const VkResult answer = wait_once(promised_.load(std::memory_order_acquire), limit);
  return answer == VK_SUCCESS || answer == VK_ERROR_DEVICE_LOST;
}

bool Queue::wait_quietly(uint64_t value, std::chrono::milliseconds limit) noexcept {
  return usable() && wait_once(value, limit) == VK_SUCCESS;
}

// No lock: vkWaitSemaphores may be called from any thread, and others must be able to submit meanwhile.
VkResult Queue::wait_once(uint64_t value, std::chrono::nanoseconds limit) noexcept {
  VkSemaphoreWaitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.semaphoreCount = 1;
  info.pSemaphores = &timeline_;
  info.pValues = &value;
  return vkWaitSemaphores(context_.device, &info, static_cast<uint64_t>(limit.count()));
}

}  // namespace sg
