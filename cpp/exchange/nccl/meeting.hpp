// What members do together before NCCL knows them, and waits for NCCL in which this process looks at the others.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "exchange/group.hpp"
#include "exchange/nccl/library.hpp"

namespace sg {

std::vector<int> others(const Group& group);
// The first member makes it. DistributedError, in all, if it cannot.
Nccl::UniqueId share_id(const Nccl& nccl, Group& group, const std::string& what);
// Until NCCL has begun what the communicator was asked for, and `done`. The others are told of an error of NCCL's: they
// would wait.
void wait_for(const Nccl& nccl, Nccl::Communicator communicator, Group& group, const std::string& what,
              const std::vector<int>& missing, const std::function<bool()>& done);

}  // namespace sg
