// What the files of the LSTM share. For ops/lstm*.cpp.
#pragma once
#include <cstdint>

#include "kernel/custom.hpp"
#include "kernel/features.hpp"

namespace sg::lstm_op {

struct LstmParameters {
  int64_t reverse, keep;
  int64_t resident;  // on a GPU: the most workgroups that wait for each other at each step; 0: a launch does one step
};

struct Sizes {
  int64_t steps, batch, hidden;
  int64_t state() const { return batch * hidden; }
};

// The most workgroups that may wait for each other: SPIROGRAD_RECURRENT, or what the device has.
int64_t most_resident(const Features& gpu);

// Adds the launches of a GPU; `first` has the tensors and words that all of them share.
void launch_on_gpu(const char* name, DType dtype, const Sizes& sizes, bool backward, const LstmParameters& parameters,
                   const CustomKernel& first, Expansion& e);

}  // namespace sg::lstm_op
