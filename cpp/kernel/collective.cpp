// The names of collectives, which are those of Python.
#include "kernel/collective.hpp"

namespace sg {

const char* name_of(Collective::Kind kind) {
  constexpr const char* names[] = {"none",   "all_reduce",     "reduce",  "broadcast", "all_gather",
                                   "gather", "reduce_scatter", "scatter", "send",      "recv"};
  return names[static_cast<int>(kind)];
}

}  // namespace sg
