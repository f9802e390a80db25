// A queue of the device: submissions in order, one timeline semaphore, bounded waits, and what happens when the
// device hangs or is lost. The value of a submission is its number; it is done when the timeline has reached it.
// Threads: any. Waiting holds no lock. Knows nothing of plans or memory.
#pragma once
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "device/device.hpp"
#include "device/gpu/driver/context.hpp"
#include "device/gpu/queue/busy.hpp"

namespace sg {

// A place for the commands of one run and what they read: three of them bound the work in flight.
struct Slot {
  VkCommandPool pool = VK_NULL_HANDLE;
  std::vector<VkCommandBuffer> buffers;           // one a submission of those that are recorded together
  size_t used = 0;                                // of them
  VkCommandBuffer commands = VK_NULL_HANDLE;      // the one that is being recorded
  HostBuffer arguments;                           // never rewritten while in flight
  VkDescriptorPool descriptors = VK_NULL_HANDLE;  // the proxy lane only
  uint64_t value = 0;                             // its last submission
  size_t index = 0;                               // in the queue
  bool open = false;                              // its commands are being recorded
};

// Invariants: no number is completed that was not promised; numbers are given in the order of submission, under mutex_.
// A slot's command buffers are touched again only after its value was waited for.
class Queue {
 public:
  enum class Use { work, copies };
  static constexpr size_t kSlots = 3;
  explicit Queue(const Context& context, Use use = Use::work);  // slots are for work only

  // Throws if the process was forked or the device is lost or hangs, or for unread validation messages. Every call
  // begins with it.
  void check(const char* op);
  bool usable() const { return context_.health->good(); }

  Slot& next();                                                // waits for the oldest slot
  uint64_t room_after() const { return slots_[next_].value; }  // the submission that next() waits for
  void open(Slot& slot);                                       // begins its first command buffer
  void open_next(Slot& slot);                                  // another one, for a submission behind it
  Slot& begin();                                               // next() and open()
  // Submits the slot's own commands, if they are open, then `kept`: closed commands that read the slot's arguments, the
  // first together with them, each other one for itself. Either everything goes to the device or nothing. Returns the
  // number of the last submission.
  uint64_t submit(Slot& slot, std::span<const VkCommandBuffer> kept = {}, Names kernels = nullptr);
  uint64_t submit(VkCommandBuffer commands);  // closed commands from elsewhere
  // Later submissions run after that submission of a queue (this one or another).
  void run_after(Queue& other, uint64_t value);

  uint64_t submitted() const { return submitted_.load(std::memory_order_acquire); }
  uint64_t completed();
  int64_t take_count() { return count_.exchange(0); }  // submissions since the last call
  // Until `value` is done. Calls Host::check_interrupts() when `interruptible`: then the caller must hold no engine lock.
  void wait(uint64_t value, bool interruptible);
  // Whether all work has ended: the device is lost, or finishes within `limit`.
  bool ended(std::chrono::milliseconds limit) noexcept;
  // For the exit of the process: no hook, no exception, at most `limit`. True when `value` is done.
  bool wait_quietly(uint64_t value, std::chrono::milliseconds limit) noexcept;

 private:
  struct Submission {
    VkCommandBufferSubmitInfo commands[4];  // two of the queue's users, and two that stamp the time
    uint32_t count = 0;
    VkSemaphoreSubmitInfo signal;
    void add(VkCommandBuffer buffer);
    void add_first(VkCommandBuffer buffer);
  };
  uint64_t submit(Names kernels);                             // what stands in submissions_
  void result(VkResult r, const char* call, const char* op);  // remembers a lost device, then throws
  VkResult wait_once(uint64_t value, std::chrono::nanoseconds limit) noexcept;
  [[noreturn]] void give_up(uint64_t value);

  struct Before {
    Queue* queue;
    uint64_t value;
  };
  const Context& context_;
  VkQueue handle_;
  std::vector<Before> before_;  // of the next submission
  BusyTime busy_;
  const bool measured_;  // whether it adds to the device's time
  VkSemaphore timeline_ = VK_NULL_HANDLE;
  double timeout_seconds_;
  std::array<Slot, kSlots> slots_;
  size_t next_ = 0;
  std::mutex mutex_;  // the VkQueue and what is given to it
  std::vector<Submission> submissions_;
  std::vector<VkSubmitInfo2> infos_;
  std::atomic<uint64_t> promised_{0}, submitted_{0}, completed_{0};  // promised: the driver may know of them already
  std::atomic<int64_t> count_{0};
};

}  // namespace sg
