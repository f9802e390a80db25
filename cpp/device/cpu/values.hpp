// The first half of compile.cpp: what is known of each instruction's value before it has a place.
// A pure analysis of a Program whose axes are chosen; compile.cpp and emit.cpp fill in `slot`.
#pragma once
#include <vector>

#include "device/cpu/executable.hpp"

namespace sg::cpu {

enum class Level : uint8_t { fixed, row, element };  // computed once a run, once a row, once an element

struct Value {
  Level level = Level::fixed;
  int phase = 0;          // the first in which it can be used
  bool scalar = false;    // one value for all lanes
  bool in_place = false;  // a load that is never copied
  int32_t slot = -1;
  int first = -1;      // the first phase that computes it
  bool kept = false;   // a whole row of it stays for later phases
  bool ahead = false;  // one value a unit, computed for a tile of units at once
};

struct Values {
  std::vector<Value> of;  // by instruction
  int phases = 1;
  std::vector<std::vector<bool>> closures;  // by phase: element instructions it needs, and its stores and reduces
};

// May lower e.block so that kept values fit.
Values analyse(const Program& p, const CompileOptions& options, Executable& e);

// Whether two views may share memory.
bool may_alias(const Executable& e, const CompileOptions& options, int32_t view_a, int32_t view_b);

}  // namespace sg::cpu
