// A queue of the device: submissions in order, one timeline semaphore, bounded waits, and what happens when the
// device hangs or is lost. The value of a submission is its number; it is done when the timeline has reached it.
// Threads: any. Waiting holds no lock. Knows nothing of plans or memory.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/gpu/context.hpp"

namespace sg {

// A place for one command buffer and what it reads: three of them bound the work in flight.
struct Slot {
  VkCommandPool pool = VK_NULL_HANDLE;
  VkCommandBuffer commands = VK_NULL_HANDLE;
  HostBuffer arguments;                           // never rewritten while in flight
  VkDescriptorPool descriptors = VK_NULL_HANDLE;  // the proxy lane only
  uint64_t value = 0;                             // its last submission
  size_t index = 0;                               // in the queue
  bool open = false;                              // its commands are being recorded
};

class Queue {
 public:
  enum class Use { work, copies };
  static constexpr size_t kSlots = 3;
  explicit Queue(const Context& context, Use use = Use::work);  // slots are for work only

  // Throws what is wrong for good: forked, lost, hung; and unread validation messages. First thing of every call.
  void check(const char* op);
  bool usable() const { return !lost_ && !hung_; }

  Slot& next();           // waits for the oldest slot
  void open(Slot& slot);  // begins its command buffer
  Slot& begin();          // both
  // The slot's own commands where they are open, then `kept`: closed ones that read the slot's arguments.
  uint64_t submit(Slot& slot, VkCommandBuffer kept = VK_NULL_HANDLE);
  uint64_t submit(VkCommandBuffer commands);  // closed commands from elsewhere
  // What is submitted from now on runs after that submission of a queue (this one or another).
  void run_after(Queue& other, uint64_t value);

  uint64_t submitted() const { return submitted_.load(std::memory_order_acquire); }
  uint64_t completed();
  int64_t take_count() { return count_.exchange(0); }  // submissions since the last call
  // Until `value` is done. Calls interrupt_hook when `interruptible`: then the caller must hold no engine lock.
  void wait(uint64_t value, bool interruptible);
  // For the exit of the process: no hook, no exception, at most `limit`. True when `value` is done.
  bool wait_quietly(uint64_t value, std::chrono::milliseconds limit) noexcept;

 private:
  uint64_t submit(const VkCommandBuffer* commands, size_t count);
  void result(VkResult r, const char* what);  // remembers a lost device, then throws
  [[noreturn]] void give_up(uint64_t value);
  void rethrow(const char* op);

  struct Before {
    Queue* queue;
    uint64_t value;
  };
  const Context& context_;
  VkQueue handle_;
  std::vector<Before> before_;  // of the next submission
  VkSemaphore timeline_ = VK_NULL_HANDLE;
  double timeout_seconds_;
  std::array<Slot, kSlots> slots_;
  size_t next_ = 0;
  std::mutex mutex_;  // the VkQueue, and the reason
  std::atomic<uint64_t> submitted_{0}, completed_{0};
  std::atomic<int64_t> count_{0};
  std::atomic<bool> lost_{false}, hung_{false};
  std::string reason_;
};

}  // namespace sg
