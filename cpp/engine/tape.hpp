// Scalar graphs on a GPU: gives recorded tapes memory, sends them as jobs of the tape machine (shaders/tape.glsl), and
// keeps a copy of what was read.
// Threads: as value/: one at a time. Waiting pauses the host.
#pragma once
#include "device/device.hpp"
#include "value/tape.hpp"

namespace sg {

// A tape's numbers lie in one buffer, `cells`: values, gradients and marks, an array each with a slot for each node.
// Its records (which slots an operation reads, who pays a gradient to whom) lie in another, `code`. A script collects
// launches and host writes and is sent as one job; the device runs jobs in order, so memory given back to the pool may
// be reused at once.
class GpuTapes final : public value::TapeRunner {
 public:
  explicit GpuTapes(Device& device);

  double read_data(value::Node* n) override;
  double read_grad(value::Node* n) override;
  bool backward(value::Node* root) override;
  void begin_pass() override { ++passes_; }
  void backward_tape(uint32_t number, const value::Node* root, const std::vector<value::Node*>& owed) override;

 protected:
  void start(value::Tape& tape) override;
  void dropped(uint32_t number) override { memory_.erase(number); }

 private:
  // Invariant: a value that is here is that of the device, unless a job that changes it has been sent, which resets the
  // mirror.
  struct Mirror {  // the host's copy of a tape's values or gradients
    std::vector<double> values;
    std::vector<bool> here;              // whether each block of slots is there
    std::shared_ptr<Readback> readback;  // all slots on their way: its bytes from `at` on
    size_t at = 0;
    bool arrived = false;  // all slots are there, whatever `here` says
    uint32_t version = 0;  // changes with the values on the device, so that a late copy is recognised
    void reset() { *this = {{}, {}, {}, 0, false, version + 1}; }
  };
  struct Memory {
    BufferRef cells, code;
    uint64_t data = 0, grad = 0, marks = 0;  // addresses
    uint64_t heads = 0, links = 0, more = 0, levels = 0, uses = 0, chunks = 0, lists = 0, externals = 0,
             external_uses = 0;
    struct Run {
      uint32_t first, last, groups;  // levels [first, last) in one launch
    };
    std::vector<Run> runs;
    std::vector<Run> payments;    // of its externals [first, last); groups is 0 where each has many uses
    std::vector<uint32_t> homes;  // of its externals
    uint32_t slots = 0, inside = 0;
    bool touched = false;  // a backward pass may have changed its gradients; before that, the host's are right
    Mirror data_mirror, grad_mirror;
  };
  struct Script {  // a job being written
    Job job;
    std::vector<uint32_t> levels;  // of the tape: first record, count
    std::vector<uint64_t> table;   // of its externals: addresses of value, gradient, mark
    std::vector<uint64_t> writes;  // address, bits
    uint64_t writes_at = 0;
    size_t wanted_bytes = 0;
    std::vector<Mirror*> mirrors;  // to be filled by the job
    size_t add_part(const void* from, size_t bytes);
    size_t pad(size_t at);
    size_t add(const void* from, size_t bytes);  // and padded
  };

  void add_levels(const value::TapeWords& words, Script& script, Memory& memory) const;
  void add_externals(Script& script, value::Tape& tape, Memory& memory);
  void add_code(Script& script, value::Tape& tape, Memory& memory);
  void add_writes(Script& script);
  void add_forward(Script& script, const Memory& memory);
  void add_backward(Script& script, Memory& memory, uint32_t root, std::vector<BufferRef>& scratch);
  void touch(Script& script, Memory& memory);
  void want(Script& script, const Memory& memory, Mirror& mirror, uint64_t address);
  void send(Script& script);
  void close(Script& script, value::Tape& tape);
  void find_payments(const value::TapeWords& words, Memory& memory) const;
  std::vector<uint64_t> words(const Memory& memory, uint32_t mode, uint32_t first, uint32_t last) const;
  uint64_t bits(double x) const;
  double from_bytes(const std::byte* p) const;
  static void check(const Memory& memory);
  uint64_t nowhere();
  template <class F>
  void send_with(value::Tape* pending, F&& more);
  double look(const Memory& memory, Mirror& mirror, uint64_t address, uint32_t slot);

  Device& device_;
  const size_t real_bytes_;
  const uint32_t threads_;                       // of a workgroup
  std::unordered_map<uint32_t, Memory> memory_;  // by the tape's number
  BufferRef nowhere_;                            // used for slots whose tape is gone
  uint32_t passes_ = 0;                          // backward
};

}  // namespace sg
