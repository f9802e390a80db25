// The compiled programs of one plan. Equal ones, as those of a model's equal layers are, are compiled once.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "device/cpu/executable.hpp"

namespace sg::cpu {

// For the preparation of one plan: it compares whole programs, so it need not outlive them.
class Compiled {
 public:
  // Programs that are equal, on memories that overlap in the same way, share one. Whoever runs it sets its numbers first.
  std::shared_ptr<Executable> of(Program program, const CompileOptions& options);
  int64_t bytes() const;  // of all of them

 private:
  struct Known {
    Program program;
    std::vector<int32_t> memory_of;
    bool tile;
    std::shared_ptr<Executable> executable;
  };
  std::unordered_multimap<uint64_t, Known> known_;
};

}  // namespace sg::cpu
