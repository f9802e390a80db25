// A Channel of an MPI communicator. The library is the one that the program has loaded (through mpi4py): its functions
// are looked up by name, and its handles come as numbers, so that nothing of MPI is needed to build.
#pragma once
#include <memory>
#include <string>

#include "exchange/channel.hpp"

namespace sg {

// Handles as the library has them: of an int (MPICH) or of a pointer (Open MPI, MPI's own ABI).
struct MpiHandles {
  std::string library;  // a file that is loaded and through which MPI's functions are found
  int64_t handle_bytes = 0;
  uint64_t communicator = 0, byte_type = 0;
  int rank = 0, size = 1;
};
// Before MPI is loaded. UCX, on which many of them are built, tries its watch over memory by having the heap grow by a
// page and shrink by one, and does not look whether it grew: where it cannot, that page is one in use. Behind the heap of
// a Python that is linked at a fixed address may lie what a GPU's driver has mapped.
bool heap_can_grow() noexcept;
// DistributedError if the library lacks a function.
std::unique_ptr<Channel> open_mpi(const MpiHandles& handles);

}  // namespace sg
