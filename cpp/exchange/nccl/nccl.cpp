// Owns communicators, and what a batch of collectives is to NCCL. Every wait is the group's. NCCL adds in an order that
// depends on its algorithm, which python/spirograd/distributed/nccl.py pins.
#include "exchange/nccl/nccl.hpp"

#include <algorithm>
#include <thread>

#include "base/error.hpp"
#include "base/round.hpp"
#include "exchange/nccl/copies.hpp"
#include "exchange/nccl/cuda.hpp"
#include "exchange/nccl/library.hpp"
#include "exchange/nccl/meeting.hpp"
#include "exchange/transport.hpp"

namespace sg {
namespace {

using Kind = Collective::Kind;
constexpr std::chrono::seconds kDrain{2};  // after an abort
// A group of calls has as many calls and bytes, where a batch has several: so values of one take longer than the calls
// of the next.
constexpr size_t kCalls = 32, kBytes = size_t{64} << 20, kBytesOfCall = size_t{1} << 20;

struct Element {
  Nccl::Type type;
  int64_t units;  // of it an element has
};
// Values that are only moved are bytes.
Element element_of(DType dtype, bool folded) {
  if (!folded) return {Nccl::uint8, static_cast<int64_t>(size_of(dtype))};
  switch (dtype) {
    case DType::int8:
      return {Nccl::int8, 1};
    case DType::int32:
      return {Nccl::int32, 1};
    case DType::int64:
      return {Nccl::int64, 1};
    case DType::float16:
      return {Nccl::float16, 1};
    case DType::bfloat16:
      return {Nccl::bfloat16, 1};
    case DType::float32:
      return {Nccl::float32, 1};
    case DType::float64:
      return {Nccl::float64, 1};
    default:
      return {Nccl::uint8, 1};  // also of booleans
  }
}
// Booleans are 0 and 1: the sum is or, the product and.
Nccl::Operation operation_of(const Collective& what, DType dtype) {
  const bool boolean = dtype == DType::boolean;
  const auto fold = static_cast<Fold>(what.fold);
  if (what.mean) return Nccl::mean;
  if (fold == Fold::maximum) return Nccl::maximum;
  if (fold == Fold::minimum) return Nccl::minimum;
  if (fold == Fold::product) return boolean ? Nccl::minimum : Nccl::product;
  return boolean ? Nccl::maximum : Nccl::sum;
}

// Has the GPU's stream wait until members have met, so that what NCCL does on the host happens while the inputs are still
// computed. A batch that does not take place is one that NCCL has begun: the communicator is given up, in all members,
// and the next batch makes another.
class NcclTransport final : public Transport {
 public:
  NcclTransport(Group& group, DeviceId device, const Nccl& nccl, Cuda& cuda)
      : copies(nccl, cuda, group), device_(device), nccl_(nccl), cuda_(cuda) {
    open(group);
  }
  // After all is done, too: it waits for nobody, which ncclCommDestroy does.
  ~NcclTransport() override { cancel(); }

  const char* name() const override { return "NCCL"; }
  bool takes(DeviceId device, const std::vector<Part>& parts) const override {
    // A communicator that was given up is made anew when all members come, not when two do.
    const bool can_open = !is_between_two(parts.front().what.kind);
    return device == device_ && (communicator_ || can_open) && std::ranges::none_of(parts, [](const Part& p) {
             return folds(p.what.kind) && p.dtype == DType::int16;  // which NCCL cannot add
           });
  }
  bool rather_gathers(const Group& group, size_t bytes) const override { return copies.takes(group, bytes); }
  std::unique_ptr<Batch> prepare(Device& device, Group& group, const std::vector<Part>& parts) override;
  void cancel() noexcept override {
    cuda_.let_go(held_);
    if (!communicator_) return;
    try {
      const Cuda::Current current(cuda_);
      if (!cuda_.is_stuck()) nccl_.abort(communicator_);  // which would wait
    } catch (...) {
    }
    communicator_ = nullptr;
  }

  Cuda& cuda() { return cuda_; }
  int64_t number() const { return communicator_ ? number_ : 0; }  // of the communicator; 0: there is none
  // All members come.
  void open(Group& group) {
    const std::string what = "NCCL's communicator";
    const Nccl::UniqueId id = share_id(nccl_, group, what);
    const Cuda::Current current(cuda_);
    Nccl::Config config = nccl_.config();
    ++number_;
    nccl_.check("ncclCommInitRankConfig", nccl_.open(&communicator_, group.size(), id, group.rank(), &config));
    try {
      wait_for(nccl_, communicator_, group, what, others(group), [] { return true; });
    } catch (...) {
      cancel();
      throw;
    }
  }
  using Calls = std::function<void(const Nccl&, Nccl::Communicator, Nccl::Stream)>;
  // The first group of calls, which the stream begins in let_go().
  void begin(const Calls& calls) {
    const Cuda::Current current(cuda_);
    try {
      held_ = cuda_.hold();
      ask(calls);
    } catch (...) {
      cancel();
      throw;
    }
  }
  // A group of calls. NCCL has taken the one before.
  void ask(const Calls& calls) {
    const Cuda::Current current(cuda_);
    nccl_.check("ncclGroupStart", nccl_.begin());
    calls(nccl_, communicator_, cuda_.stream());
    nccl_.check("ncclGroupEnd", nccl_.end(), communicator_);
  }
  void let_go() { cuda_.let_go(held_); }
  // Until NCCL has taken all calls, and done() says yes.
  void wait(Group& group, const std::string& what, const std::vector<int>& missing, const std::function<bool()>& done) {
    const Cuda::Current current(cuda_);
    try {
      wait_for(nccl_, communicator_, group, what, missing, done);
    } catch (...) {
      cancel();
      throw;
    }
  }
  // Whether nothing runs any more after cancel().
  bool drained() noexcept {
    try {
      const Cuda::Current current(cuda_);
      const auto last = std::chrono::steady_clock::now() + kDrain;
      while (!cuda_.idle()) {
        if (std::chrono::steady_clock::now() > last) {
          cuda_.give_up_stream();
          return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
      }
    } catch (...) {  // the stream has failed, so it runs nothing
    }
    return true;
  }

  Copies copies;

 private:
  const DeviceId device_;
  const Nccl& nccl_;
  Cuda& cuda_;
  Nccl::Communicator communicator_ = nullptr;
  int64_t number_ = 0;
  uint32_t held_ = 0;
};

// Buffers belong to CUDA from the construction to the end.
class NcclBatch final : public Batch {
 public:
  NcclBatch(NcclTransport& transport, Device& device, Group& group, const std::vector<Part>& parts)
      : transport_(transport), device_(device), group_(group) {
    for (const Part& p : parts) {
      calls_.push_back({p, element_of(p.dtype, folds(p.what.kind))});
      if (p.what.kind == Kind::all_gather) row_ += round_up(bytes_of(calls_.back()), Copies::kUnit);
    }
    if (row_) window_ = transport_.copies.window(rows());
    if (window_)
      place_in_window();
    else
      place_all();
    groups_ = groups();
    device_.hand_over(buffers_, before_);
    try {
      if (transport_.number() && !is_pair() && !window_) begin();
    } catch (...) {
      leave();
      throw;
    }
  }
  ~NcclBatch() override { leave(); }

  // Buffers are back only when the batch has ended, but what is submitted next comes later still.
  bool give_way() override {
    take_back(after_);
    return true;
  }

  void run(const std::string& what, const std::function<void()>& meanwhile) override {
    if (begun_ && begun_ != transport_.number())
      fail<DistributedError>(what, "it was given up", "see the error before this one");
    if (window_) return run_copies(what, meanwhile);
    if (!transport_.number()) transport_.open(group_);
    if (!begun_) begin();
    transport_.let_go();
    const std::vector<int> missing = is_pair() ? std::vector{root()} : others(group_);
    if (asked_ < groups_) transport_.wait(group_, what, missing, [this] { return !ask_for_more(); });
    give_way();
    meanwhile();
    transport_.wait(group_, what, missing, [this] { return transport_.cuda().idle(); });
    ran_ = true;
    if (row_) transport_.copies.open_window(device_, group_, rows());
  }

 private:
  struct NcclCall {
    const Part& part;
    Element element;
    Cuda::Address in = 0, out = 0;
  };
  static size_t bytes_of(const NcclCall& c) { return static_cast<size_t>(c.part.count) * size_of(c.part.dtype); }

  size_t rows() const { return row_ * static_cast<size_t>(group_.size()); }
  // The window has a row of all parts for each member.
  void place_in_window() {
    buffers_.push_back(window_);
    size_t at = 0;
    for (const NcclCall& c : calls_) {
      const Part& p = c.part;
      const size_t bytes = bytes_of(c);
      before_.push_back({p.in, window_, p.in_at, at + static_cast<size_t>(group_.rank()) * row_, bytes});
      for (size_t m = 0; m < static_cast<size_t>(group_.size()); ++m)
        if (!p.what.sums || m != static_cast<size_t>(group_.rank()))
          after_.push_back({window_, p.out, m * row_ + at, p.out_at + m * bytes, bytes});
      at += round_up(bytes, Copies::kUnit);
    }
  }
  void place_all() {
    for (NcclCall& c : calls_) {
      const Part& p = c.part;
      const size_t in = static_cast<size_t>(inputs_of(p, group_)) * size_of(p.dtype);
      const size_t out = static_cast<size_t>(outputs_of(p, group_)) * size_of(p.dtype);
      if (in) c.in = place(p.in, p.in_at, in, before_, true);
      if (out) c.out = place(p.out, p.out_at, out, after_, false);
    }
    const auto address = [](const BufferRef& b) { return b.get(); };
    std::ranges::sort(buffers_, {}, address);
    const auto again = std::ranges::unique(buffers_, {}, address);
    buffers_.erase(again.begin(), again.end());
  }

  // Memory that was made before NCCL was asked for is not open to CUDA, so a copy of it stands in.
  Cuda::Address place(const BufferRef& buffer, size_t at, size_t bytes, std::vector<BufferCopy>& copies, bool reads) {
    BufferRef lent = buffer;
    ExternalMemory memory = device_.external_memory(buffer);
    if (!memory.block) {
      lent = device_.allocate(bytes);
      memory = device_.external_memory(lent);
      if (reads)
        copies.push_back({buffer, lent, at, 0, bytes});
      else
        copies.push_back({lent, buffer, 0, at, bytes});
      at = 0;
    }
    buffers_.push_back(lent);
    return transport_.cuda().address(device_, lent, memory) + at;
  }

  int root() const { return calls_.front().part.what.root; }
  // Two members of more: what the others do is not known, so they begin when both have met.
  bool is_pair() const { return is_between_two(calls_.front().part.what.kind); }
  void begin() {
    begun_ = transport_.number();
    transport_.begin(next_group());
  }
  // NCCL begins with a group when it has all calls of it, so that those of the next ones come while values move. The
  // same in all members, as NCCL wants it.
  size_t groups() const {
    size_t bytes = 0;
    for (const NcclCall& c : calls_) bytes += bytes_of(c);
    if (bytes < calls_.size() * kBytesOfCall) return 1;
    return std::max<size_t>(1, std::min(calls_.size() / kCalls, bytes / kBytes));
  }
  bool ask_for_more() {
    if (asked_ == groups_) return false;
    transport_.ask(next_group());
    return true;
  }
  NcclTransport::Calls next_group() {
    const size_t first = asked_ * calls_.size() / groups_, end = ++asked_ * calls_.size() / groups_;
    return [=, this](const Nccl& nccl, Nccl::Communicator communicator, Nccl::Stream stream) {
      for (size_t i = first; i < end; ++i) add(calls_[i], nccl, communicator, stream);
    };
  }
  void run_copies(const std::string& what, const std::function<void()>& meanwhile) {
    begun_copies_ = true;
    try {
      transport_.copies.gather(group_.rank(), row_);
      give_way();
      meanwhile();
      transport_.copies.wait(group_, what);
    } catch (...) {
      transport_.copies.give_up();
      throw;
    }
    ran_ = true;
  }
  void take_back(const std::vector<BufferCopy>& copies) {
    if (!taken_back_) device_.take_back(buffers_, copies);
    taken_back_ = true;
  }
  void leave() noexcept {
    bool idle = true;
    if ((begun_ || begun_copies_) && !ran_) {
      if (begun_ && begun_ == transport_.number()) transport_.cancel();
      idle = transport_.drained();
    }
    if (idle) take_back({});
    if (!idle) new std::vector<BufferRef>(buffers_);  // CUDA may still write to them: they stay for good
  }

  void add(const NcclCall& c, const Nccl& n, Nccl::Communicator communicator, Nccl::Stream stream) const {
    const Collective& what = c.part.what;
    const auto count = static_cast<size_t>(c.part.count * c.element.units);
    const int type = c.element.type, root = what.root, me = group_.rank();
    const int operation = operation_of(what, c.part.dtype);
    const size_t unit = static_cast<size_t>(c.part.count) * size_of(c.part.dtype);
    const auto at = [&](Cuda::Address begin, int member = 0) {
      return reinterpret_cast<void*>(begin + static_cast<size_t>(member) * unit);
    };
    const auto check = [&](int answer) { n.check("a collective", answer, communicator); };
    switch (what.kind) {
      case Kind::all_reduce:
        return check(n.all_reduce(at(c.in), at(c.out), count, type, operation, communicator, stream));
      case Kind::reduce:
        check(n.reduce(at(c.in), at(c.out), count, type, operation, root, communicator, stream));
        if (me != root) transport_.cuda().copy(c.out, c.in, unit);
        return;
      case Kind::broadcast:
        return check(n.broadcast(at(c.in), at(c.out), count, type, root, communicator, stream));
      case Kind::all_gather:
        return check(n.all_gather(at(c.in), at(c.out), count, type, communicator, stream));
      case Kind::reduce_scatter:
        return check(n.reduce_scatter(at(c.in), at(c.out), count, type, operation, communicator, stream));
      case Kind::gather:
        if (me != root) return check(n.send(at(c.in), count, type, root, communicator, stream));
        for (int m : others(group_)) check(n.receive(at(c.out, m), count, type, m, communicator, stream));
        return transport_.cuda().copy(c.out + static_cast<size_t>(me) * unit, c.in, unit);
      case Kind::scatter:
        if (me != root) return check(n.receive(at(c.out), count, type, root, communicator, stream));
        for (int m : others(group_)) check(n.send(at(c.in, m), count, type, m, communicator, stream));
        return transport_.cuda().copy(c.out, c.in + static_cast<size_t>(me) * unit, unit);
      case Kind::send:
        return check(n.send(at(c.in), count, type, root, communicator, stream));
      case Kind::receive:
        return check(n.receive(at(c.out), count, type, root, communicator, stream));
      case Kind::none:
        return;
    }
  }

  NcclTransport& transport_;
  Device& device_;
  Group& group_;
  std::vector<NcclCall> calls_;
  std::vector<BufferRef> buffers_;
  std::vector<BufferCopy> before_, after_;
  size_t row_ = 0;     // bytes of all parts, if they are gathered
  BufferRef window_;   // in which they are, or null
  int64_t begun_ = 0;  // with the communicator of this number; 0: not yet
  size_t groups_ = 1, asked_ = 0;
  bool begun_copies_ = false, ran_ = false, taken_back_ = false;
};

std::unique_ptr<Batch> NcclTransport::prepare(Device& device, Group& group, const std::vector<Part>& parts) {
  return std::make_unique<NcclBatch>(*this, device, group, parts);
}

}  // namespace

namespace {

Cuda& prepare(DeviceId id, const std::string& library) {
  Nccl::of(library);
  Device& device = gpu_device(id.index);
  Cuda& cuda = Cuda::of(device.info().uuid);
  if (const std::string why = device.make_external([&cuda](uint64_t block) { cuda.forget(block); }); !why.empty())
    fail<DistributedError>("NCCL", why, "use MPI");
  return cuda;
}

}  // namespace

// Members meet before they wait for each other within NCCL, and afterwards, so that all have a communicator or none.
std::string open_nccl(Group& group, DeviceId id, const std::string& library, const std::string& lacks) {
  const std::string what = "NCCL";
  std::string why = lacks;
  Cuda* cuda = nullptr;
  try {
    if (why.empty()) cuda = &prepare(id, library);
  } catch (const Error& e) {
    why = e.what();
  }
  try {
    group.meet(1, what, why);
  } catch (const DistributedError& e) {
    if (!group.broken().empty()) throw;
    return e.what();
  }
  if (!why.empty()) return why;
  try {
    group.use(std::make_unique<NcclTransport>(group, id, Nccl::of(library), *cuda));
  } catch (const std::exception& e) {  // the others have one, perhaps, and are about to meet
    if (group.broken().empty()) group.break_with(e.what());
    group.leave(e.what());
    throw;
  }
  group.meet(2, what, "");
  return "";
}

}  // namespace sg
