// What python/spirograd/distributed calls: groups of processes, and collectives. Knows no MPI: Python brings its handles.
#include "bind/bound.hpp"
#include "engine/exchange.hpp"
#include "exchange/group.hpp"
#include "exchange/mpi.hpp"
#include "exchange/nccl/nccl.hpp"
#include "graph/lock.hpp"
#include "ops/list.hpp"

namespace sg::bind {
namespace {

int64_t open_group(const std::string& library, int64_t handle_bytes, int64_t communicator, int64_t byte_type,
                   int64_t rank, const std::vector<int64_t>& processes, const std::vector<int64_t>& pids,
                   double limit) {
  const WithoutGil unlocked;
  const EngineLock lock;
  MpiHandles handles{library,
                     handle_bytes,
                     static_cast<uint64_t>(communicator),
                     static_cast<uint64_t>(byte_type),
                     static_cast<int>(rank),
                     static_cast<int>(processes.size())};
  std::vector<sg::Member> members;
  for (size_t m = 0; m < processes.size(); ++m) members.push_back({static_cast<int32_t>(processes[m]), pids.at(m)});
  const int32_t number = add_group(open_mpi(handles), std::move(members), std::chrono::duration<double>(limit));
  // The last that this process heard through MPI's own collectives may still be on its way to others, for whom only this
  // process can see to it.
  group_of(number).meet(0, "init_process_group", "");
  return number;
}

Fold fold_of(const std::string& name) {
  constexpr Fold all[] = {Fold::sum, Fold::maximum, Fold::minimum, Fold::product};
  constexpr const char* names[] = {"sum", "max", "min", "product"};
  for (size_t i = 0; i < std::size(all); ++i)
    if (name == names[i]) return all[i];
  if (name == "avg") return Fold::sum;
  fail<ValueError>("distributed", "no operation " + name, "sum, avg, max, min or product");
}

Collective::Kind kind_of_name(const std::string& name) {
  for (int32_t k = 1; k <= static_cast<int32_t>(Collective::Kind::receive); ++k)
    if (name == name_of(static_cast<Collective::Kind>(k))) return static_cast<Collective::Kind>(k);
  fail<ValueError>("distributed", "no collective " + name);
}

std::vector<Tensor> run_collective(const std::vector<Tensor>& tensors, const std::string& kind, const std::string& fold,
                                   int64_t root, int64_t group, bool later) {
  const WithoutGil unlocked;
  const Collective what{.kind = kind_of_name(kind),
                        .fold = static_cast<int32_t>(fold_of(fold)),
                        .mean = fold == "avg",
                        .root = static_cast<int32_t>(root),
                        .group = static_cast<int32_t>(group)};
  return exchange(tensors, what, later);
}

void write_results(const std::vector<Tensor>& targets, const std::vector<Tensor>& results) {
  for (size_t i = 0; i < targets.size(); ++i) {
    const Tensor target = targets[i].detach(), result = reshape(results.at(i), target.shape());
    if (!take_result(target, result)) copy_(target, cast(result, target.dtype()));
  }
}

void finish() {
  const WithoutGil unlocked;
  const EngineLock lock;
  finish_exchange();
}

// Without waiting for the lock: the thread that has it may wait for this process's end.
void leave(const std::string& why) { leave_groups(why); }

DeviceId gpu(int64_t index) {
  if (index < 0 || index > 255) fail<ValueError>("distributed", "no gpu:" + std::to_string(index));
  return {DeviceId::Kind::gpu, static_cast<uint8_t>(index)};
}

std::string nccl_open(int64_t group, int64_t index, const std::string& library, const std::string& lacks) {
  const WithoutGil unlocked;
  const EngineLock lock;
  return open_nccl(group_of(static_cast<int32_t>(group)), gpu(index), library, lacks);
}

void close() {
  const EngineLock lock;
  fail_exchange(
      std::make_exception_ptr(DistributedError("the process group was destroyed before the collective ended")));
  close_groups();
}

bool are_broken() {
  const EngineLock lock;
  return any_broken();
}

bool have_ended() {
  const EngineLock lock;
  return all_ended();
}

constexpr Callable distributed_callables[] = {
    {"_heap_can_grow", bound<heap_can_grow>}, {"_group_open", bound<open_group>},
    {"_nccl_open", bound<nccl_open>},         {"_groups_close", bound<close>},
    {"_groups_leave", bound<leave>},          {"_groups_broken", bound<are_broken>},
    {"_note_death", bound<note_death>},       {"_groups_ended", bound<have_ended>},
    {"_exchange", bound<run_collective>},     {"_exchange_write", bound<write_results>},
    {"_exchange_finish", bound<finish>},
};

}  // namespace

void add_distributed(PyObject* module) { add_callables(module, distributed_callables); }

}  // namespace sg::bind
