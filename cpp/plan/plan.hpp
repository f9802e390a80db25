// The waist between the two halves: what is to be run, in which order, on which memory.
// schedule/ makes Plans, device/ runs them; neither includes the other. Owns no device memory; immutable once made.
#pragma once
#include <string>
#include <vector>

#include "base/device_id.hpp"
#include "kernel/kernel.hpp"

namespace sg {

// Memory as a plan sees it. Two bindings may share one Memory (two views of one tensor).
struct Memory {
  enum class Kind : uint8_t {
    leaf,    // passed by the caller, by leaf number
    output,  // passed by the caller, by output number
    temp,    // bytes [offset, offset + bytes) of the device's arena
  };
  Kind kind = Kind::temp;
  int32_t index = 0;  // leaf or output number
  int64_t bytes = 0;
  int64_t offset = 0;  // temp only
  int32_t donor = -1;  // output only: takes over the memory of this leaf (written in place), -1: fresh
};

// Memory that a kernel reads or writes. Some bindings begin at an element that is known only at run time.
struct Binding {
  int32_t memory = -1;
  int32_t start = -1;  // index into the run-time offsets, -1: offset 0
};

// One kernel launch, or, when `instances` has several entries, one launch over several tensors: entry i has its own
// domain, bindings, offsets and numbers, but the same code (the update of all parameters of a model).
struct Instance {
  Kernel kernel;
  std::vector<Binding> bindings;
  std::vector<int32_t> numbers;         // run-time number of each number argument
  std::vector<int32_t> reads, writes;   // Memory indices
  std::vector<int32_t> checks, guards;  // of each in the kernel, the node of the log whose word it has (RunArguments)
};
struct Step {
  std::string name;  // its ops joined by '_'
  std::vector<Instance> instances;
  std::vector<int32_t> nodes = {};  // the nodes of the log that it computes, for display
  const Instance& only() const { return instances.front(); }
};

struct Plan {
  DeviceId device;
  std::vector<Memory> memories;
  std::vector<Step> steps;  // in an order that respects every read and write
  int64_t arena_bytes = 0;
  int32_t leaves = 0, outputs = 0, starts = 0, numbers = 0;

  std::string print() const;
  int64_t bytes() const;  // on the host, approximate
};

}  // namespace sg
