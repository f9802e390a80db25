#include "device/gpu/queue.hpp"

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/error.hpp"
#include "base/log.hpp"
#include "base/profile.hpp"
#include "device/gpu/check.hpp"
#include "device/gpu/instance.hpp"
#include "device/gpu/validation.hpp"

namespace sg {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSpin = std::chrono::microseconds(80);  // a submission and its wait take 29 to 38 us on an H200
constexpr uint64_t kSliceNanoseconds = 50'000'000;

double timeout_from_env() {
  const double seconds = std::atof(env("SPIROGRAD_TIMEOUT").c_str());
  return seconds > 0 ? seconds : 60;
}

}  // namespace

Queue::Queue(const Context& context, Use use)
    : context_(context),
      handle_(use == Use::work ? context.queue : context.copies),
      timeout_seconds_(timeout_from_env()) {
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
    slot.commands = make_command_buffer(context, slot.pool);
    slot.arguments = make_host_buffer(context, 64 << 10, HostUse::arguments);
  }
}

void Queue::check(const char* op) {
  check_fork(op);
  if (!usable()) rethrow(op);
  throw_validation();
}

void Queue::rethrow(const char* op) {
  const std::lock_guard lock(mutex_);
  if (hung_) throw DeviceTimeoutError(std::string(op) + ": " + context_.name() + " was given up, " + reason_);
  throw DeviceLostError(std::string(op) + ": " + context_.name() + " was lost before, " + reason_);
}

void Queue::result(VkResult r, const char* what) {
  if (r >= 0) return;
  if (r == VK_ERROR_DEVICE_LOST) {
    lost_ = true;
    reason_ = what;
  }
  throw_vk(r, std::string(what) + " on " + context_.name());
}

Slot& Queue::next() {
  Slot& slot = slots_[next_];
  wait(slot.value, false);
  slot.open = false;  // what failed halfway
  return slot;
}

void Queue::open(Slot& slot) {
  vk_check(vkResetCommandPool(context_.device, slot.pool, 0), "vkResetCommandPool");
  if (slot.descriptors) vk_check(vkResetDescriptorPool(context_.device, slot.descriptors, 0), "vkResetDescriptorPool");
  begin_commands(slot.commands);
  slot.open = true;
}

Slot& Queue::begin() {
  Slot& slot = next();
  open(slot);
  return slot;
}

uint64_t Queue::submit(Slot& slot, VkCommandBuffer kept) {
  VkCommandBuffer commands[2];
  size_t count = 0;
  if (slot.open) {
    end_commands(slot.commands);
    commands[count++] = slot.commands;
  }
  if (kept) commands[count++] = kept;
  slot.value = submit(commands, count);
  slot.open = false;
  next_ = (next_ + 1) % slots_.size();
  return slot.value;
}

uint64_t Queue::submit(VkCommandBuffer commands) { return submit(&commands, 1); }

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

uint64_t Queue::submit(const VkCommandBuffer* commands, size_t count) {
  const std::lock_guard lock(mutex_);
  const Stage stage("submit", "stage", context_.id);
  const uint64_t value = submitted_.load(std::memory_order_relaxed) + 1;
  VkCommandBufferSubmitInfo buffers[2]{};
  for (size_t i = 0; i < count; ++i) {
    buffers[i].sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO;
    buffers[i].commandBuffer = commands[i];
  }
  VkSemaphoreSubmitInfo signal{};
  signal.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO;
  signal.semaphore = timeline_;
  signal.value = value;
  signal.stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  VkSemaphoreSubmitInfo waits[2]{};
  for (size_t i = 0; i < before_.size(); ++i) {
    waits[i].sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO;
    waits[i].semaphore = before_[i].queue->timeline_;
    waits[i].value = before_[i].value;
    waits[i].stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
  }
  VkSubmitInfo2 info{};
  info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
  info.waitSemaphoreInfoCount = static_cast<uint32_t>(before_.size());
  info.pWaitSemaphoreInfos = waits;
  info.commandBufferInfoCount = static_cast<uint32_t>(count);
  info.pCommandBufferInfos = buffers;
  info.signalSemaphoreInfoCount = 1;
  info.pSignalSemaphoreInfos = &signal;
  result(vkQueueSubmit2(handle_, 1, &info, VK_NULL_HANDLE), "vkQueueSubmit2");
  submitted_.store(value, std::memory_order_release);
  before_.clear();
  ++count_;
  return value;
}

uint64_t Queue::completed() {
  uint64_t value = 0;
  const VkResult r = vkGetSemaphoreCounterValue(context_.device, timeline_, &value);
  if (r < 0) {
    const std::lock_guard lock(mutex_);
    result(r, "vkGetSemaphoreCounterValue");
  }
  uint64_t seen = completed_.load(std::memory_order_relaxed);
  while (seen < value && !completed_.compare_exchange_weak(seen, value, std::memory_order_release)) {
  }
  return value;
}

void Queue::wait(uint64_t value, bool interruptible) {
  if (completed_.load(std::memory_order_acquire) >= value) return;
  const Stage stage("wait", "stage", context_.id);
  const auto start = Clock::now();
  do {
    if (completed() >= value) return;
  } while (Clock::now() - start < kSpin);

  VkSemaphoreWaitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.semaphoreCount = 1;
  info.pSemaphores = &timeline_;
  info.pValues = &value;
  uint64_t reached = completed();
  auto progress = Clock::now();
  while (reached < value) {
    if (!usable()) rethrow("wait");
    const VkResult r = vkWaitSemaphores(context_.device, &info, kSliceNanoseconds);
    if (r < 0) {
      const std::lock_guard lock(mutex_);
      result(r, "vkWaitSemaphores");
    }
    const uint64_t now = completed();
    if (now > reached) progress = Clock::now();
    reached = now;
    if (reached >= value) break;
    if (interruptible && interrupt_hook) interrupt_hook();
    if (std::chrono::duration<double>(Clock::now() - progress).count() > timeout_seconds_) give_up(value);
  }
}

void Queue::give_up(uint64_t value) {
  const std::lock_guard lock(mutex_);
  hung_ = true;
  reason_ = "submission " + std::to_string(value) + " made no progress for " + std::to_string(timeout_seconds_) + " s";
  fail<DeviceTimeoutError>("wait", context_.name() + ": " + reason_,
                           "restart the process; SPIROGRAD_TIMEOUT sets the seconds");
}

bool Queue::wait_quietly(uint64_t value, std::chrono::milliseconds limit) noexcept {
  if (!usable()) return false;
  VkSemaphoreWaitInfo info{};
  info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
  info.semaphoreCount = 1;
  info.pSemaphores = &timeline_;
  info.pValues = &value;
  const auto nanoseconds = std::chrono::duration_cast<std::chrono::nanoseconds>(limit).count();
  return vkWaitSemaphores(context_.device, &info, static_cast<uint64_t>(nanoseconds)) == VK_SUCCESS;
}

}  // namespace sg
