// Scalar graphs on a GPU: gives recorded tapes memory, sends them as jobs of the tape machine (shaders/tape.glsl), and
// keeps a copy of what was read.
// Threads: as value/: one at a time. Waiting gives up the GIL through contention_hooks.
#pragma once
#include "device/device.hpp"
#include "value/tape.hpp"

namespace sg {

class GpuTapes final : public value::TapeRunner {
 public:
  explicit GpuTapes(Device& device) : device_(device), real_bytes_(device.features().float64 ? 8 : 4) {}

  double read_data(value::Node* n) override;
  double read_grad(value::Node* n) override;
  void backward(value::Node* root) override;

 protected:
  void start(value::Tape& tape) override;
  void dropped(uint32_t number) override { memory_.erase(number); }

 private:
  struct Mirror {  // values as they were when `as_of` backward passes had run
    std::vector<double> values;
    uint64_t as_of = ~uint64_t{0};
  };
  struct Memory {
    BufferRef cells, code;
    uint64_t data = 0, grad = 0, marks = 0;  // addresses
    uint64_t records = 0, levels = 0, uses = 0, chunks = 0, lists = 0, externals = 0, external_uses = 0;
    std::vector<std::pair<uint32_t, uint32_t>> narrow_or_wide;  // launches: levels [first, last)
    std::vector<uint32_t> groups;                               // of each
    uint32_t slots = 0, external_count = 0;
    uint64_t made_at = 0;  // backward passes before it: its gradients are 0 until the next one
    Mirror data_copy, grad_copy;
  };
  struct Script {  // a job being written
    Job job;
    std::vector<std::vector<std::byte>> bytes;  // what its pieces point to
    std::vector<uint64_t> writes;               // address, bits
    uint64_t writes_at = 0;
  };

  void add_code(Script& script, value::Tape& tape, Memory& memory);
  void add_writes(Script& script);
  void add_forward(Script& script, const Memory& memory);
  void add_backward(Script& script, const Memory& memory, uint32_t root, std::vector<BufferRef>& scratch);
  void send(Script& script);
  void close(Script& script, value::Tape& tape);
  std::vector<uint64_t> words(const Memory& memory, uint32_t mode, uint32_t first, uint32_t last) const;
  uint64_t bits(double x) const;
  uint64_t nowhere();
  double copied(const Memory& memory, Mirror& mirror, uint64_t address, uint32_t slot);
  Memory& memory_of(const value::Node* n) { return memory_.at(home_of(n)); }

  Device& device_;
  const size_t real_bytes_;
  std::unordered_map<uint32_t, Memory> memory_;  // by the tape's number
  BufferRef nowhere_;                            // stands for slots whose tape is gone
  uint64_t passes_ = 0;                          // backward
};

// The tapes of gpu:N.
value::TapeRunner* tapes_of(int gpu);

}  // namespace sg
