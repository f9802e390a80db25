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

  struct UniqueId {
    char bytes[128];
  };
  // As version 2.14 had it. A later library takes it for what it says it is, and sets all that came later itself.
  struct Config {
    size_t size = sizeof(Config);
    unsigned magic = 0xcafebeef;
    unsigned version = kOldest;
    int blocking = 0;
    int unused = INT_MIN;
  };

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

 private:
  explicit Nccl(const std::string& path);
};

}  // namespace sg
