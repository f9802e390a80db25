// What became of runs whose kernels check indices: each has a number, and is unchecked until somebody has looked at what
// its kernels reported; then it is retired, or its results are poisoned. Threads: under the engine lock.
#pragma once
#include <cstdint>
#include <exception>
#include <vector>

#include "graph/log.hpp"

namespace sg {

// Results of a run that met an index out of range raise its error wherever they are used.
void poison(uint32_t run, std::exception_ptr error);  // and the runs that read its results
// Runs that check indices, or read results of such a run before its word was looked at, have a number.
uint32_t begin_run(std::vector<uint32_t> after);
uint32_t last_run();
bool unchecked(const Node& node);                 // made by such a run that is not retired, or is poisoned
void retire(DeviceId device, uint32_t last_run);  // that run and those before it reported nothing

}  // namespace sg
