// Watches what a thread does while a step is recorded for replay (engine/replay/): whose memory ops read and write,
// which leaves collect gradients, which numbers will differ next time.
// graph/ and ops/ report to it. At most one for each thread, used by that thread alone.
#pragma once
#include <atomic>
#include <cstdint>

#include "graph/tensor.hpp"

namespace sg {

struct Generator;

class Watcher {
 public:
  virtual ~Watcher() = default;
  virtual void makes(Storage& fresh) = 0;
  virtual void uses(const Tensor& x) = 0;               // an op reads or writes it, or its gradient graph begins there
  virtual void reads_gradient(const Tensor& leaf) = 0;  // before
  virtual void sets_gradient(const Tensor& leaf) = 0;
  virtual void ends(const GradNode& node) = 0;  // backward() passed it and freed its values
  // Words drawn from a stream of random numbers. The result stands for the seed, the next slot for the first word.
  virtual ReplaySlot draws(Generator& from, int64_t blocks) = 0;
  // A stream is about to be set to this position.
  virtual void turns(Generator& stream, int64_t seed, int64_t blocks) = 0;
  // A number that may be another at each replay.
  virtual ReplaySlot number(double now) = 0;
};
extern constinit thread_local Watcher* watcher;
// While threads are watched: what other threads do to the logs, which all threads share, so that no watcher counts it
// as its own.
extern std::atomic<int32_t> watchers;
extern std::atomic<uint32_t> disturbances;
inline void note_disturbance() {
  if (watchers.load(std::memory_order_relaxed) && !watcher) ++disturbances;
}

}  // namespace sg
