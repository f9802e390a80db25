// Owns the windows and the communicator that copies in them.
#include "exchange/nccl/copies.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <exception>
#include <memory>
#include <thread>

#include "base/error.hpp"
#include "base/log.hpp"
#include "exchange/nccl/meeting.hpp"

namespace sg {

Copies::~Copies() {
  if (!communicator_ || cuda_.is_stuck()) {  // others may still write there: it stays for good
    new std::vector<Window>(std::move(windows_));
    return;
  }
  try {
    const Cuda::Current current(cuda_);
    nccl_.abort(communicator_);
  } catch (...) {
  }
  for (const Window& w : windows_) cuda_.release(w.memory);
}

BufferRef Copies::window(size_t bytes) const {
  if (!works_ || !communicator_ || windows_.back().memory.bytes < bytes || windows_.back().buffer->gone) return {};
  return windows_.back().buffer;
}

Copies::Window Copies::make(Device& device, size_t bytes) const {
  int file = -1;
  Window made{cuda_.share(bytes, file), {}};
  try {
    made.buffer = device.import_external(file, made.memory.bytes);
  } catch (...) {
    cuda_.release(made.memory);
    throw;
  }
  return made;
}

void Copies::open_window(Device& device, Group& group, size_t bytes) {
  if (!works_ || bytes > kMost) return;
  const std::string what = "NCCL's window";
  Window made;
  agree(group, 3, what, [&] { made = make(device, std::bit_ceil(std::max(bytes, kLeastWindow))); });
  if (!works_) return cuda_.release(made.memory);
  windows_.push_back(std::move(made));  // now, because NCCL may know it after an error, too
  agree(group, 4, what, [&] { connect(group, what); });
  if (works_) agree(group, 5, what, [&] { beside(group, what, gathering(group.rank(), kUnit)); });
}

// The work waits for other members, so a thread does it: this one must look at them meanwhile.
void Copies::beside(Group& group, const std::string& what, std::function<void()> work) const {
  struct State {
    std::atomic<bool> done{false};
    std::exception_ptr error;
  };
  const auto state = std::make_shared<State>();
  std::thread([state, work = std::move(work), &cuda = cuda_] {
    try {
      const Cuda::Current current(cuda);
      work();
    } catch (...) {
      state->error = std::current_exception();
    }
    state->done = true;
  }).detach();
  const Cuda::Current current(cuda_);
  group.wait(what, [&] { return state->done && cuda_.idle(); }, [&] { return others(group); });
  if (state->error) std::rethrow_exception(state->error);
}

void Copies::connect(Group& group, const std::string& what) {
  const auto made = std::make_shared<Nccl::Communicator>(communicator_);
  const Nccl::UniqueId id = communicator_ ? Nccl::UniqueId{} : share_id(nccl_, group, what);
  const auto work = [made, id, &nccl = nccl_, size = group.size(), rank = group.rank(),
                     memory = windows_.back().memory] {
    Nccl::Config config = nccl.config();
    config.blocking = 1;
    config.kernels = Nccl::kNoKernels;
    if (!*made) nccl.check("ncclCommInitRankConfig", nccl.open(made.get(), size, id, rank, &config));
    Nccl::Window window = nullptr;
    void* begin = reinterpret_cast<void*>(memory.begin);
    nccl.check("ncclCommWindowRegister", nccl.make_window(*made, begin, memory.bytes, &window, Nccl::kSymmetric),
               *made);
    if (!window) fail<DistributedError>("NCCL", "these GPUs cannot copy from each other", "nothing");
  };
  beside(group, what, work);
  communicator_ = *made;
}

// The first one is work that waits for others, too.
std::function<void()> Copies::gathering(int member, size_t row) const {
  return
      [&nccl = nccl_, c = communicator_, stream = cuda_.stream(), begin = windows_.back().memory.begin, member, row] {
        const auto at = [begin](size_t bytes) { return reinterpret_cast<void*>(begin + bytes); };
        nccl.check("ncclAllGather",
                   nccl.all_gather(at(static_cast<size_t>(member) * row), at(0), row, Nccl::uint8, c, stream), c);
      };
}

void Copies::gather(int member, size_t row) const {
  const Cuda::Current current(cuda_);
  gathering(member, row)();
}

void Copies::wait(Group& group, const std::string& what) const {
  const Cuda::Current current(cuda_);
  wait_for(nccl_, communicator_, group, what, others(group), [this] { return cuda_.idle(); });
}

template <class F>
void Copies::agree(Group& group, uint64_t number, const std::string& what, F work) {
  std::string why;
  try {
    work();
  } catch (const Error& e) {
    if (!group.broken().empty()) throw;
    why = e.what();
  }
  try {
    group.meet(number, what, why);
  } catch (const DistributedError& e) {
    if (!group.broken().empty()) throw;
    why = e.what();
  }
  if (why.empty()) return;
  works_ = false;
  debug(1, what + ": none, so sums are NCCL's: " + why);
}

}  // namespace sg
