// The fate of runs whose kernels check indices. Each has a number and is unchecked until its reports are read; then it
// is retired or, if there was an error, its results are poisoned. Threads: under the engine lock.
#pragma once
#include <cstdint>
#include <exception>
#include <vector>

#include "graph/log.hpp"

namespace sg {

// From now on, whatever uses a result of this run raises the error.
void poison(uint32_t run, std::exception_ptr error);  // and the runs that read its results
// Numbers a run that checks indices or reads results of unchecked runs, `after`.
uint32_t begin_run(std::vector<uint32_t> after);
uint32_t last_run();
bool unchecked(const Node& node);                 // made by a numbered run that is not retired, or is poisoned
void retire(DeviceId device, uint32_t last_run);  // that run and those before it reported nothing

}  // namespace sg
