// Owns the table of NCCL's functions. Knows no tensors.
#include "exchange/nccl/library.hpp"

#include "base/error.hpp"
#include "os/process.hpp"

namespace sg {

const Nccl& Nccl::of(const std::string& path) {
  static const Nccl loaded(path);
  return loaded;
}

Nccl::Nccl(const std::string& path) {
  const auto find = [&]<class F>(const char* function, F& pointer) {
    std::string why;
    pointer = reinterpret_cast<F>(os::function_of(path, function, why));
    if (!pointer)
      fail<DistributedError>("NCCL", path + " gives no " + function + " (" + why + ")",
                             "pip install spirograd[nccl], 2.14 or later");
  };
  find("ncclGetVersion", version);
  find("ncclGetUniqueId", unique_id);
  find("ncclCommInitRankConfig", open);
  find("ncclCommGetAsyncError", state);
  find("ncclCommAbort", abort);
  find("ncclGetErrorString", name_of);
  find("ncclGetLastError", last_error);
  find("ncclGroupStart", begin);
  find("ncclGroupEnd", end);
  find("ncclAllReduce", all_reduce);
  find("ncclReduce", reduce);
  find("ncclBroadcast", broadcast);
  find("ncclAllGather", all_gather);
  find("ncclReduceScatter", reduce_scatter);
  find("ncclSend", send);
  find("ncclRecv", receive);
  check("ncclGetVersion", version(&version_));
  if (version_ < kOldest)
    fail<DistributedError>("NCCL", path + " has version code " + std::to_string(version_),
                           "pip install spirograd[nccl], 2.14 or later");
  if (version_ >= kCopies) find("ncclCommWindowRegister", make_window);
}

Nccl::Config Nccl::config() const {
  Config c;
  c.size = version_ >= kCopies ? sizeof c : offsetof(Config, least_blocks);
  c.version = static_cast<unsigned>(version_ >= kCopies ? kCopies : kOldest);
  return c;
}

void Nccl::check(const char* call, int answer, Communicator communicator) const {
  if (answer == success || answer == in_progress) return;
  const char* more = last_error(communicator);
  const std::string words = more && *more ? std::string(" (") + more + ")" : "";
  fail<DistributedError>("NCCL", std::string(call) + " answered " + name_of(answer) + words,
                         "NCCL_DEBUG=WARN makes it say more");
}

}  // namespace sg
