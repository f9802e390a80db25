// Bytes between the processes of a group: the five calls of MPI that exchange/ needs. Messages between two processes
// with one tag arrive in order. Nothing waits. Threads: one at a time.
#pragma once
#include <cstddef>
#include <cstdint>

namespace sg {

class Channel {
 public:
  static constexpr size_t kMostBytes = size_t{1} << 30;  // of one message
  virtual ~Channel() = default;
  virtual int rank() const = 0;
  virtual int size() const = 0;
  // Begins a message; the bytes stay where they are until it is done. DistributedError.
  virtual uint64_t send(int to, int tag, const void* from, size_t bytes) = 0;
  virtual uint64_t receive(int from, int tag, void* to, size_t bytes) = 0;
  // Whether it is done; it is then forgotten. DistributedError.
  virtual bool done(uint64_t message) = 0;
  // Forgets a message that will never be done.
  virtual void give_up(uint64_t message) noexcept = 0;
};

}  // namespace sg
