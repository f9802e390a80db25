// Owns the windows and the communicator that copies in them.
#include "exchange/nccl/copies.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <exception>
#include <thread>

#include "base/error.hpp"
#include "base/log.hpp"
#include "exchange/nccl/meeting.hpp"

namespace sg {

Copies::~Copies() {
  if (!communicator_) return;  // also of one that was given up, whose memory others may still write to
  try {
    const Cuda::Current current(cuda_);
    if (!cuda_.is_stuck()) nccl_.abort(communicator_);
  } catch (...) {
  }
  for (const Window& w : windows_) cuda_.release(w.memory);
}

BufferRef Copies::window(size_t bytes) const {
  if (!communicator_ || windows_.back().memory.bytes < bytes || windows_.back().buffer->gone) return {};
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
  agree(group, 4, what, [&] { connect(group, what, made); });
  if (works_) windows_.push_back(std::move(made));
}

// In a thread, because these calls wait for the other members, at which this one must look meanwhile. The first gather
// is another such call.
void Copies::connect(Group& group, const std::string& what, const Window& window) {
  struct State {
    std::atomic<bool> done{false};
    std::exception_ptr error;
    Nccl::Communicator communicator;
  };
  const auto state = std::make_shared<State>();
  state->communicator = communicator_;
  const Nccl::UniqueId id = communicator_ ? Nccl::UniqueId{} : share_id(nccl_, group, what);
  std::thread([state, id, &nccl = nccl_, &cuda = cuda_, size = group.size(), rank = group.rank(),
               memory = window.memory] {
    try {
      const Cuda::Current current(cuda);
      Nccl::Config config = nccl.config();
      config.blocking = 1;
      config.kernels = Nccl::kNoKernels;
      Nccl::Communicator& c = state->communicator;
      if (!c) nccl.check("ncclCommInitRankConfig", nccl.open(&c, size, id, rank, &config));
      Nccl::Window made = nullptr;
      void* begin = reinterpret_cast<void*>(memory.begin);
      nccl.check("ncclCommWindowRegister", nccl.make_window(c, begin, memory.bytes, &made, Nccl::kSymmetric), c);
      if (!made) fail<DistributedError>("NCCL", "these GPUs cannot copy from each other", "nothing");
      constexpr size_t row = 16;
      nccl.check("ncclAllGather",
                 nccl.all_gather(reinterpret_cast<void*>(memory.begin + static_cast<size_t>(rank) * row), begin, row,
                                 Nccl::uint8, c, cuda.stream()),
                 c);
    } catch (...) {
      state->error = std::current_exception();
    }
    state->done = true;
  }).detach();
  const Cuda::Current current(cuda_);
  group.wait(what, [&] { return state->done && cuda_.idle(); }, [&] { return others(group); });
  if (state->error) std::rethrow_exception(state->error);
  communicator_ = state->communicator;
}

void Copies::gather(int member, size_t row) const {
  const Cuda::Current current(cuda_);
  const Cuda::Address begin = windows_.back().memory.begin;
  nccl_.check("ncclAllGather",
              nccl_.all_gather(reinterpret_cast<void*>(begin + static_cast<size_t>(member) * row),
                               reinterpret_cast<void*>(begin), row, Nccl::uint8, communicator_, cuda_.stream()),
              communicator_);
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
