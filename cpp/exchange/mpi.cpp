// Owns MPI's function pointers. Knows no collectives: those of MPI would sum in an order of their own, know no bfloat16,
// and could not be given up after a time.
#include "exchange/mpi.hpp"

#include <type_traits>

#include "base/error.hpp"
#include "os/memory.hpp"
#include "os/process.hpp"

namespace sg {
namespace {

constexpr const char* kOp = "distributed";

template <class Handle>
class Mpi final : public Channel {
 public:
  explicit Mpi(const MpiHandles& h)
      : rank_(h.rank), size_(h.size), communicator_(handle(h.communicator)), byte_(handle(h.byte_type)) {
    find(h.library, "MPI_Isend", isend_);
    find(h.library, "MPI_Irecv", irecv_);
    find(h.library, "MPI_Test", test_);
    find(h.library, "MPI_Cancel", cancel_);
    find(h.library, "MPI_Request_free", free_);
  }
  int rank() const override { return rank_; }
  int size() const override { return size_; }

  uint64_t send(int to, int tag, const void* from, size_t bytes) override {
    Handle request{};
    check("MPI_Isend", isend_(from, static_cast<int>(bytes), byte_, to, tag, communicator_, &request));
    return number(request);
  }
  uint64_t receive(int from, int tag, void* to, size_t bytes) override {
    Handle request{};
    check("MPI_Irecv", irecv_(to, static_cast<int>(bytes), byte_, from, tag, communicator_, &request));
    return number(request);
  }
  bool done(uint64_t message) override {
    Handle request = handle(message);
    int flag = 0;
    alignas(16) unsigned char status[kStatusBytes];
    check("MPI_Test", test_(&request, &flag, status));
    return flag != 0;
  }
  void give_up(uint64_t message) noexcept override {
    Handle request = handle(message);
    cancel_(&request);
    free_(&request);
  }

 private:
  static constexpr size_t kStatusBytes = 256;  // more than any library's

  static Handle handle(uint64_t number) {
    if constexpr (std::is_pointer_v<Handle>)
      return reinterpret_cast<Handle>(number);
    else
      return static_cast<Handle>(number);
  }
  static uint64_t number(Handle handle) {
    if constexpr (std::is_pointer_v<Handle>)
      return reinterpret_cast<uint64_t>(handle);
    else
      return static_cast<uint32_t>(handle);
  }
  template <class F>
  static void find(const std::string& library, const char* name, F& function) {
    std::string why;
    function = reinterpret_cast<F>(os::function_of(library, name, why));
    if (!function)
      fail<DistributedError>(kOp, library + " has no " + name + " (" + why + ")", "use mpi4py >= 4 and MPI 3 or later");
  }
  static void check(const char* call, int error) {
    if (error)
      fail<DistributedError>(kOp, std::string(call) + " failed with error " + std::to_string(error),
                             "another process has probably ended; see its output");
  }

  int rank_, size_;
  Handle communicator_, byte_;
  int (*isend_)(const void*, int, Handle, int, int, Handle, Handle*) = nullptr;
  int (*irecv_)(void*, int, Handle, int, int, Handle, Handle*) = nullptr;
  int (*test_)(Handle*, int*, void*) = nullptr;
  int (*cancel_)(Handle*) = nullptr;
  int (*free_)(Handle*) = nullptr;
};

}  // namespace

bool heap_can_grow() noexcept {
  constexpr size_t kRoom = size_t{16} << 20;  // also for what is allocated until then
  return os::heap_has_room(kRoom);
}

std::unique_ptr<Channel> open_mpi(const MpiHandles& handles) {
  if (handles.handle_bytes == sizeof(int)) return std::make_unique<Mpi<int>>(handles);
  if (handles.handle_bytes == sizeof(void*)) return std::make_unique<Mpi<void*>>(handles);
  fail<DistributedError>(kOp, "handles of " + std::to_string(handles.handle_bytes) + " bytes", "use another MPI");
}

}  // namespace sg
