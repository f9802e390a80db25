// Where a log that still grows is cut, so that its beginning runs meanwhile (docs/decisions/054-work-starts-early.md).
// Pure: depends on the operations recorded, their sizes, and which values the program holds.
#pragma once
#include <cstdint>
#include <vector>

#include "graph/log.hpp"

namespace sg {

// The first node that stays, between half of `bound` and the end; 0: no place is good, or not yet.
size_t cut_of(const Log& log, int64_t bound);

// Whether a run may end before this node: it does not belong to the one before it.
bool may_cut(const Log& log, size_t node);
// A check that nobody reads belongs to an index whose order was known: it has been checked.
inline bool is_known_check(const Node& node) { return node.op->reports && node.op->kind == Kind::pointwise; }

// What becomes of the nodes of a log of which those before `cut` run.
struct CutOff {
  std::vector<bool> runs;   // it is needed before the cut
  std::vector<bool> again;  // it is not stored, because it is cheap to compute again from what is: stays, too
  std::vector<bool> kept;   // nothing holds or reads it: somebody has dropped it, and may be timing it
};
// `again`: whether values may be computed again. `between`: what is read across this node is stored; 0: there is none.
CutOff cut_off(const Log& log, size_t cut, bool again, size_t between = 0);

}  // namespace sg
