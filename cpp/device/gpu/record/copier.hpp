// Copies between buffers of the device: one kernel makes all of them, because each command for one costs the GPU as much
// as a kernel that does little. Called under the device's lock.
#pragma once
#include <vector>

#include "device/device.hpp"
#include "device/gpu/memory/transfer.hpp"
#include "device/gpu/pipeline/pipeline.hpp"
#include "device/gpu/queue/queue.hpp"
#include "device/gpu/record/commands.hpp"

namespace sg {

class Copier {
 public:
  Copier(Pipelines& pipelines, Transfer& transfer) : pipelines_(pipelines), transfer_(transfer) {}
  // Of the slot's argument memory, for so many copies.
  static size_t argument_bytes(size_t copies) { return copies ? (1 + 4 * copies) * sizeof(uint64_t) : 0; }
  // None reads what another writes.
  void record(const std::vector<BufferCopy>& copies, Commands& commands, Slot& slot, size_t at);

 private:
  Pipelines& pipelines_;
  Transfer& transfer_;
  std::vector<uint64_t> words_;  // kept for their capacity, like the ranges
  Access access_;
};

}  // namespace sg
