// The functions of libnccl.so.2 that nccl.cpp uses, in our own words: nothing of NCCL is needed to build.
#pragma once
#include <climits>
#include <cstddef>
#include <string>

namespace sg {

struct Nccl {
  using Communicator = void*;
  using Stream = void*;
  enum Answer : int { success = 0, in_progress = 7 };
  enum Type : int { int8 = 0, uint8 = 1, int32 = 2, int64 = 4, float16 = 6, float32 = 7, float64 = 8, bfloat16 = 9 };
  enum Operation : int { sum = 0, product = 1, maximum = 2, minimum = 3, mean = 4 };
  static constexpr int kOldest = 21400;  // the first with communicators that do not block
  static constexpr int kCopies = 22800;  // the first that gathers without a kernel

  struct UniqueId {
    char bytes[128];
  };
  // As version 2.28 has it. A library takes it for what it says it is, and sets all that came later itself. INT_MIN and
  // null are nobody's choice.
  struct Config {
    size_t size;
    unsigned magic = 0xcafebeef;
    unsigned version;
    int blocking = 0;
    int cluster = INT_MIN;  // the last of 2.14
    int least_blocks = INT_MIN, most_blocks = INT_MIN;
    const char* network = nullptr;
    int split = INT_MIN, traffic = INT_MIN;
    const char* name = nullptr;
    int switches = INT_MIN;
    int kernels = INT_MIN;
    int shrink = INT_MIN, switch_blocks = INT_MIN, channels = INT_MIN, central = INT_MIN;
  };
  static constexpr int kNoKernels = 2;  // NCCL_CTA_POLICY_ZERO: where copies do
  using Window = void*;
  static constexpr int kSymmetric = 1;  // of a window: all members use the same part of it

  // The library at that path or by that name, loaded once. DistributedError: it is not there, or too old.
  static const Nccl& of(const std::string& path);

  // DistributedError with the library's own words, unless it answers that all is well or under way.
  void check(const char* call, int answer, Communicator communicator = nullptr) const;

  int (*version)(int*);
  int (*unique_id)(UniqueId*);
  int (*open)(Communicator*, int size, UniqueId, int rank, Config*);
  int (*state)(Communicator, int*);
  int (*abort)(Communicator);
  const char* (*name_of)(int);
  const char* (*last_error)(Communicator);
  int (*begin)();
  int (*end)();
  int (*all_reduce)(const void*, void*, size_t, int, int, Communicator, Stream);
  int (*reduce)(const void*, void*, size_t, int, int, int root, Communicator, Stream);
  int (*broadcast)(const void*, void*, size_t, int, int root, Communicator, Stream);
  int (*all_gather)(const void*, void*, size_t, int, Communicator, Stream);
  int (*reduce_scatter)(const void*, void*, size_t, int, int, Communicator, Stream);
  int (*send)(const void*, size_t, int, int to, Communicator, Stream);
  int (*receive)(void*, size_t, int, int from, Communicator, Stream);
  // From kCopies on, else null: all members give memory that CUDA can share, the copies of which need no kernel.
  int (*make_window)(Communicator, void*, size_t, Window*, int flags) = nullptr;
  Config config() const;

 private:
  explicit Nccl(const std::string& path);
  int version_ = 0;
};

}  // namespace sg
