// Which kernels become one launch, and in which order launches run.
#include <map>

#include "schedule/place.hpp"

namespace sg::schedule_detail {
namespace {

constexpr size_t kMaxInstances = 512;
constexpr size_t kMaxLeaders = 32;  // of one structure that a kernel may still join: those of the latest launches
constexpr int64_t kMaxInstanceElements = int64_t{1} << 22;  // larger kernels fill a device by themselves

// Kernels with the same code and nothing to wait for between them run as instances of one launch, each with its own
// arguments. Which of them comes first does not matter.
class Grouper {
 public:
  Grouper(const Context& context, const Kernels& kernels, Order order)
      : context_(context), kernels_(kernels), order_(std::move(order)) {}

  Launches run() {
    launches_.riders.resize(kernels_.count());
    if (context_.input.fuse) group();
    launches_.leaders = order_.sorted();
    return std::move(launches_);
  }

 private:
  // Pointwise kernels only.
  void group() {
    std::map<uint64_t, std::vector<int32_t>> leaders;
    for (size_t d = 0; d < kernels_.count(); ++d) {
      if (kernels_.emitted[d].kernel.kind != Kernel::Kind::program || kernels_.groups[d].reduced ||
          kernels_.is_empty(static_cast<int32_t>(d)))
        continue;
      auto& same = leaders[kernels_.emitted[d].kernel.program.structure_hash()];
      bool joined = false;
      for (size_t at = same.size() > kMaxLeaders ? same.size() - kMaxLeaders : 0; at < same.size() && !joined; ++at)
        if ((joined = can_group(same[at], static_cast<int32_t>(d)))) join(same[at], static_cast<int32_t>(d));
      if (!joined) same.push_back(static_cast<int32_t>(d));
    }
  }

  bool can_group(int32_t leader, int32_t d) {
    ++context_.work;
    if (computes_again(context_, kernels_.groups[leader]) || computes_again(context_, kernels_.groups[d])) return false;
    if (kernels_.emitted[d].kernel.program.domain.numel() > kMaxInstanceElements) return false;
    if (!(kernels_.emitted[leader].kernel.program.code == kernels_.emitted[d].kernel.program.code)) return false;
    if (launches_.riders[leader].size() + 1 >= kMaxInstances) return false;
    return !order_.before(leader, d) && !order_.before(d, leader);
  }

  void join(int32_t leader, int32_t d) {
    launches_.riders[leader].push_back(d);
    order_.merge(leader, d);
  }

  const Context& context_;
  const Kernels& kernels_;
  Order order_;
  Launches launches_;
};

}  // namespace

Launches group_launches(const Context& context, const Kernels& kernels, Order order) {
  return Grouper(context, kernels, std::move(order)).run();
}

}  // namespace sg::schedule_detail
