// Owns no state.
#include "exchange/nccl/meeting.hpp"

#include <algorithm>
#include <cstring>

#include "base/error.hpp"

namespace sg {

std::vector<int> others(const Group& group) {
  std::vector<int> all;
  for (int m = 0; m < group.size(); ++m)
    if (m != group.rank()) all.push_back(m);
  return all;
}

// An empty one: the first member has failed.
Nccl::UniqueId share_id(const Nccl& nccl, Group& group, const std::string& what) {
  Nccl::UniqueId id{};
  std::string why;
  if (group.rank() == 0) {
    try {
      nccl.check("ncclGetUniqueId", nccl.unique_id(&id));
    } catch (const DistributedError& e) {
      why = e.what();
      id = {};
    }
  }
  Messages messages(group, what);
  std::byte* place = messages.room(sizeof id);
  if (group.rank() == 0) {
    std::memcpy(place, &id, sizeof id);
    for (int m : others(group)) messages.send(m, Group::kData, place, sizeof id);
  } else {
    messages.receive(0, Group::kData, place, sizeof id);
  }
  messages.wait();
  std::memcpy(&id, place, sizeof id);
  if (std::ranges::all_of(id.bytes, [](char c) { return c == 0; }))
    throw DistributedError(why.empty() ? what + ": " + group.name(0) + " has no unique id; see its output" : why);
  return id;
}

void wait_for(const Nccl& nccl, Nccl::Communicator communicator, Group& group, const std::string& what,
              const std::vector<int>& missing, const std::function<bool()>& done) {
  std::string failure;
  try {
    group.wait(
        what,
        [&] {
          int state = 0;
          try {
            nccl.check("ncclCommGetAsyncError", nccl.state(communicator, &state));
            nccl.check("a collective", state, communicator);
            return state != Nccl::in_progress && done();
          } catch (const DistributedError& e) {
            failure = what + ": " + e.what();
            throw DistributedError(failure);
          }
        },
        [&] { return missing; });
  } catch (const DistributedError&) {
    if (!failure.empty()) group.leave(failure);
    throw;
  }
}

}  // namespace sg
