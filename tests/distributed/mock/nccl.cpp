// MOCK of NCCL, for tests: a libnccl.so.2 that works in shared memory between processes of one machine, on the streams
// of the mock of CUDA. Sums are in the order of the ranks. On rank 1, a collective of as many bytes as 664
// floats have fails, one of 668 kills the process, and one of 672 hangs until it is aborted.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "mock.hpp"

namespace {

enum { kSuccess = 0, kSystemError = 2, kInvalidArgument = 4, kInvalidUsage = 5, kInProgress = 7 };
constexpr size_t kMost = 4, kChunk = 1 << 17;  // ranks; bytes
constexpr size_t kFails = 664, kKills = 668, kHangs = 672;

// Of all ranks; zeroes at first.
struct Shared {
  std::atomic<int> there, arrived, turn;
  std::atomic<int> full[kMost][kMost];  // the mailbox from one to another
  char mail[kMost][kMost][kChunk];
  char values[kMost][kMost * kChunk];
};
struct Communicator {
  int rank, size;
  Shared* shared;
  std::atomic<int> state{kInProgress};
  std::atomic<bool> aborted{false};
  bool blocking = false;

  template <class F>
  bool until(F done) {
    for (int i = 0; !done(); ++i) {
      if (aborted) return false;
      if (i > 100) usleep(50);
    }
    return true;
  }
  bool barrier() {
    const int turn = shared->turn;
    if (++shared->arrived == size) {
      shared->arrived = 0;
      ++shared->turn;
      return true;
    }
    return until([&] { return shared->turn != turn; });
  }
};
struct UniqueId {
  char name[128];
};
struct Config {
  size_t size;
  unsigned magic, version;
  int blocking, before[3];
  const char* network;
  int between[2];
  const char* name;
  int switches, policy;
};
struct Window {
  const char* begin;
  size_t bytes;
};
std::vector<Window> windows;
int window_gathers = 0;

std::vector<std::pair<MockStream*, std::function<void()>>> waiting;
std::vector<Communicator*> asked;
int depth = 0, groups = 0;

// ---- arithmetic
double from_half(uint16_t h) {
  const int exponent = h >> 10 & 31, mantissa = h & 1023;
  const double size = exponent == 0    ? std::ldexp(mantissa, -24)
                      : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                       : std::ldexp(1024 + mantissa, exponent - 25);
  return h & 0x8000 ? -size : size;
}
uint16_t to_half(double x) {
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  x = std::fabs(x);
  if (std::isnan(x)) return sign | 0x7e00;
  if (x >= 65520) return sign | 0x7c00;
  int exponent = 0;
  std::frexp(x, &exponent);
  exponent = std::max(exponent, -13);
  const auto mantissa = static_cast<int>(std::nearbyint(std::ldexp(x, 11 - exponent)));
  return static_cast<uint16_t>(sign | (mantissa < 1024 ? mantissa : mantissa - 1024 + ((exponent + 14) << 10)));
}
float from_brain(uint16_t b) {
  const uint32_t bits = static_cast<uint32_t>(b) << 16;
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}
uint16_t to_brain(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}
template <class T>
T fold(T a, T b, int operation) {
  if (operation == 0 || operation == 4) return static_cast<T>(a + b);
  if (operation == 1) return static_cast<T>(a * b);
  return operation == 2 ? std::max(a, b) : std::min(a, b);
}
template <class T>
void fold_all(void* to, const void* with, size_t n, int operation) {
  auto* a = static_cast<T*>(to);
  const auto* b = static_cast<const T*>(with);
  for (size_t i = 0; i < n; ++i) a[i] = fold(a[i], b[i], operation);
}
template <class F, class G>
void fold_halves(void* to, const void* with, size_t n, int operation, F from, G back) {
  auto* a = static_cast<uint16_t*>(to);
  const auto* b = static_cast<const uint16_t*>(with);
  for (size_t i = 0; i < n; ++i) a[i] = back(fold(from(a[i]), from(b[i]), operation));
}
void fold_in(int type, void* to, const void* with, size_t n, int operation) {
  if (type == 0) fold_all<int8_t>(to, with, n, operation);
  if (type == 1) fold_all<uint8_t>(to, with, n, operation);
  if (type == 2) fold_all<int32_t>(to, with, n, operation);
  if (type == 4) fold_all<int64_t>(to, with, n, operation);
  if (type == 6) fold_halves(to, with, n, operation, from_half, to_half);
  if (type == 7) fold_all<float>(to, with, n, operation);
  if (type == 8) fold_all<double>(to, with, n, operation);
  if (type == 9) fold_halves(to, with, n, operation, from_brain, to_brain);
}
template <class T>
void scale_all(void* values, size_t n, int ranks) {
  auto* a = static_cast<T*>(values);
  for (size_t i = 0; i < n; ++i) a[i] *= static_cast<T>(1.0 / ranks);
}
template <class F, class G>
void scale_halves(void* values, size_t n, int ranks, F from, G back) {
  auto* a = static_cast<uint16_t*>(values);
  for (size_t i = 0; i < n; ++i) a[i] = back(from(a[i]) * static_cast<float>(1.0 / ranks));
}
void divide(int type, void* values, size_t n, int ranks) {
  if (type == 6) scale_halves(values, n, ranks, from_half, to_half);
  if (type == 7) scale_all<float>(values, n, ranks);
  if (type == 8) scale_all<double>(values, n, ranks);
  if (type == 9) scale_halves(values, n, ranks, from_brain, to_brain);
}
size_t size_of(int type) {
  constexpr size_t sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return sizes[type];
}

// ---- what is asked for
int add(Communicator* c, void* stream, std::function<void()> task) {
  if (c->blocking) return static_cast<MockStream*>(stream)->add(std::move(task)), kSuccess;
  if (c->state == kInProgress || !depth) return kInvalidUsage;  // the caller waits, and always makes groups
  waiting.emplace_back(static_cast<MockStream*>(stream), std::move(task));
  asked.push_back(c);
  return kSuccess;
}

// Each rank shows `shown` runs of the elements [at, at + n) to the others, then takes what it wants of theirs.
template <class Take>
int together(Communicator* c, void* stream, const void* in, size_t count, int type, size_t shown, Take take) {
  return add(c, stream, [=] {
    const auto is = [=](size_t floats) { return c->rank == 1 && count * size_of(type) == floats * sizeof(float); };
    if (is(kFails)) {
      c->state = kSystemError;
      return;
    }
    if (is(kKills)) raise(SIGKILL);
    if (is(kHangs) && !c->until([] { return false; })) return;
    const size_t unit = size_of(type), most = kChunk / unit;
    for (size_t at = 0; at < count; at += most) {
      const size_t n = std::min(most, count - at);
      for (size_t run = 0; run < shown; ++run)
        memcpy(c->shared->values[c->rank] + run * n * unit, static_cast<const char*>(in) + (run * count + at) * unit,
               n * unit);
      if (!c->barrier()) return;
      take(at, n, unit);
      if (!c->barrier()) return;
    }
  });
}
void folded(const Communicator* c, char* out, size_t run, size_t n, size_t unit, int type, int operation) {
  std::vector<char> sum(c->shared->values[0] + run * n * unit, c->shared->values[0] + (run + 1) * n * unit);
  if (operation == 4) divide(type, sum.data(), n, c->size);
  for (int r = 1; r < c->size; ++r) {
    std::vector<char> values(c->shared->values[r] + run * n * unit, c->shared->values[r] + (run + 1) * n * unit);
    if (operation == 4) divide(type, values.data(), n, c->size);
    fold_in(type, sum.data(), values.data(), n, operation);
  }
  memcpy(out, sum.data(), n * unit);
}

}  // namespace

extern "C" {

int ncclGetVersion(int* version) { return *version = 22809, kSuccess; }
int ncclGetUniqueId(UniqueId* id) {
  static int number = 0;
  snprintf(id->name, sizeof id->name, "/spirograd-mock-%d-%d", getpid(), ++number);
  return kSuccess;
}
int ncclCommInitRankConfig(Communicator** made, int size, UniqueId id, int rank, Config* config) {
  if (config->magic != 0xcafebeef || config->version < 21400) return kInvalidArgument;
  if (config->version >= 22800 && (config->size != 80 || (config->policy == 2) != config->blocking))
    return kInvalidArgument;
  if (size > static_cast<int>(kMost)) return kInvalidArgument;
  const char* algorithm = getenv("NCCL_ALGO");
  if (!algorithm || strcmp(algorithm, "Ring") != 0) return kInvalidUsage;  // it was not pinned
  const int file = shm_open(id.name, O_CREAT | O_RDWR, 0600);
  if (file < 0 || ftruncate(file, sizeof(Shared)) != 0) return kSystemError;
  void* shared = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (shared == MAP_FAILED) return kSystemError;
  auto* c = *made = new Communicator{rank, size, static_cast<Shared*>(shared)};
  ++c->shared->there;
  c->blocking = config->blocking;
  std::thread opened([c, id] {
    if (!c->until([&] { return c->shared->there == c->size; })) return;
    if (c->rank == 0) shm_unlink(id.name);
    c->state = kSuccess;
  });
  if (c->blocking) return opened.join(), kSuccess;
  return opened.detach(), kInProgress;
}
int ncclCommWindowRegister(const Communicator* c, void* begin, size_t bytes, void** window, int flags) {
  if (!c->blocking || flags != 1 || reinterpret_cast<uintptr_t>(begin) % 4096) return kInvalidArgument;
  if (c->rank == 1 && getenv("MOCK_NO_WINDOW")) return *window = nullptr, kSuccess;
  windows.push_back({static_cast<const char*>(begin), bytes});
  return *window = begin, kSuccess;
}
int ncclCommGetAsyncError(const Communicator* c, int* state) { return *state = c->state, kSuccess; }
int ncclCommAbort(Communicator* c) { return c->aborted = true, kSuccess; }
const char* ncclGetErrorString(int error) { return error == kSystemError ? "unhandled system error" : "invalid usage"; }
const char* ncclGetLastError(Communicator*) { return "a mock's words"; }
int ncclGroupStart() { return ++depth, kSuccess; }
int ncclGroupEnd() {
  if (--depth) return kInvalidUsage;
  if (waiting.empty()) return kSuccess;
  ++groups;
  for (Communicator* c : asked) c->state = kInProgress;
  std::thread([tasks = std::exchange(waiting, {}), communicators = std::exchange(asked, {})] {
    usleep(100);
    for (const auto& [stream, task] : tasks) stream->add(task);
    for (Communicator* c : communicators) {
      int state = kInProgress;
      c->state.compare_exchange_strong(state, kSuccess);  // unless it has failed
    }
  }).detach();
  return kInProgress;
}
int ncclAllReduce(const void* in, void* out, size_t count, int type, int operation, Communicator* c, void* stream) {
  return together(c, stream, in, count, type, 1, [=](size_t at, size_t n, size_t unit) {
    folded(c, static_cast<char*>(out) + at * unit, 0, n, unit, type, operation);
  });
}
int ncclReduce(const void* in, void* out, size_t count, int type, int operation, int root, Communicator* c,
               void* stream) {
  return together(c, stream, in, count, type, 1, [=](size_t at, size_t n, size_t unit) {
    if (c->rank == root) folded(c, static_cast<char*>(out) + at * unit, 0, n, unit, type, operation);
  });
}
int ncclReduceScatter(const void* in, void* out, size_t count, int type, int operation, Communicator* c, void* stream) {
  return together(c, stream, in, count, type, static_cast<size_t>(c->size), [=](size_t at, size_t n, size_t unit) {
    folded(c, static_cast<char*>(out) + at * unit, static_cast<size_t>(c->rank), n, unit, type, operation);
  });
}
int ncclBroadcast(const void* in, void* out, size_t count, int type, int root, Communicator* c, void* stream) {
  return together(c, stream, in, count, type, c->rank == root, [=](size_t at, size_t n, size_t unit) {
    memcpy(static_cast<char*>(out) + at * unit, c->shared->values[root], n * unit);
  });
}
int ncclAllGather(const void* in, void* out, size_t count, int type, Communicator* c, void* stream) {
  const auto* rows = static_cast<const char*>(out);
  const size_t row = count * size_of(type);
  for (const Window& w : windows)
    window_gathers += rows >= w.begin && rows + static_cast<size_t>(c->size) * row <= w.begin + w.bytes &&
                      in == rows + static_cast<size_t>(c->rank) * row;
  return together(c, stream, in, count, type, 1, [=](size_t at, size_t n, size_t unit) {
    for (int r = 0; r < c->size; ++r)
      memcpy(static_cast<char*>(out) + (static_cast<size_t>(r) * count + at) * unit, c->shared->values[r], n * unit);
  });
}
// For tests: gathers in place within a window; groups of calls.
int mock_window_gathers() { return window_gathers; }
int mock_groups() { return groups; }
int ncclSend(const void* in, size_t count, int type, int to, Communicator* c, void* stream) {
  return add(c, stream, [=] {
    const size_t bytes = count * size_of(type);
    std::atomic<int>& full = c->shared->full[c->rank][to];
    for (size_t at = 0; at < bytes; at += kChunk) {
      if (!c->until([&] { return full == 0; })) return;
      memcpy(c->shared->mail[c->rank][to], static_cast<const char*>(in) + at, std::min(kChunk, bytes - at));
      full = 1;
    }
  });
}
int ncclRecv(void* out, size_t count, int type, int from, Communicator* c, void* stream) {
  return add(c, stream, [=] {
    const size_t bytes = count * size_of(type);
    std::atomic<int>& full = c->shared->full[from][c->rank];
    for (size_t at = 0; at < bytes; at += kChunk) {
      if (!c->until([&] { return full == 1; })) return;
      memcpy(static_cast<char*>(out) + at, c->shared->mail[from][c->rank], std::min(kChunk, bytes - at));
      full = 0;
    }
  });
}

}  // extern "C"
