// Custom kernels: what is launched, on which memory, with which numbers. Pure data; an op's `expand` makes it,
// schedule/ finds the memory, the devices run it.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/body.hpp"
#include "base/dtype.hpp"
#include "kernel/collective.hpp"
#include "kernel/features.hpp"
#include "kernel/gemm.hpp"
#include "kernel/lstm.hpp"

namespace sg {

// What a CPU function gets: the addresses of its tensors, its words, and the device's threads.
struct CpuArgs {
  void* const* at;
  const int64_t* words;
  // Calls body(begin, end) for pieces of [0, n), `grain` or less each, on any thread in any order; see cpu/threads.hpp.
  void (*parallel)(int64_t n, int64_t grain, const Body& body);
  // On the calling thread: a product; x[i] = exp(x[i]); the gates of an LSTM; at most CustomKernel::scratch bytes of
  // memory, valid until the function returns.
  void (*multiply)(DType dtype, GemmTile tile);
  void (*exp)(DType dtype, void* x, int64_t n);
  void (*lstm_forward)(DType dtype, const LstmPart& part);
  void (*lstm_backward)(DType dtype, const LstmPart& part);
  void* (*scratch)(int64_t bytes);
  void (*look)();  // call this now and then in work that takes seconds, so that Ctrl-C can end it
  template <class T>
  T* as(int i) const {
    return static_cast<T*>(at[i]);
  }
};

// One launch. Its tensors are memories of the expansion, contiguous from their first element on.
struct CustomKernel {
  struct Tensor {
    int32_t binding = 0;  // in an expansion: which memory of it; in a plan: which binding of the step
    DType dtype = DType::float32;
    bool write = false;
    int64_t offset = 0;  // elements; a binding adds its own at run time
  };
  std::vector<Tensor> tensors;
  std::vector<int64_t> words;
  void (*cpu)(const CpuArgs&) = nullptr;  // may allocate only through args.scratch(), because it must not fail
  int64_t scratch = 0;                    // bytes that each thread needs
  // GLSL that follows #version, extensions and common.glsl. tensor(i) is the address of tensor i, word(i) is word i.
  std::string source;
  int64_t groups[3] = {1, 1, 1};
  int64_t threads = 0;  // of a workgroup, SG_THREADS in the source; 0: the source says it, by what the device can
  MatrixUnits::Path matrix = MatrixUnits::Path::none;  // how the source reaches matrix units
  bool ballots = false;                                // see Features
  // An op that reports has two more words: where (RunArguments::nodes), and the address of the status block.
  bool reports = false;
  double cost = 0;  // approximate number of operations
  // Not run by a device, but together with other processes: input 0 and the result, `words` the shape of the input.
  Collective collective;
};

// The launches of one node, in order. Memory 0 .. inputs - 1 are the inputs, then comes the result, then temporaries.
struct Expansion {
  struct Launch {
    std::string name;
    CustomKernel custom;
  };
  std::vector<int64_t> temporaries;  // bytes
  std::deque<Launch> launches;       // they stay where they are while others are added
  int32_t inputs = 0;
  const Features* gpu = nullptr;  // what the device can do; nullptr: the CPU

  int32_t result() const { return inputs; }
  int32_t temporary(int64_t bytes) {
    temporaries.push_back(bytes);
    return inputs + static_cast<int32_t>(temporaries.size());
  }
  CustomKernel& launch(std::string name) {
    launches.push_back({std::move(name), {}});
    return launches.back().custom;
  }
};

}  // namespace sg
