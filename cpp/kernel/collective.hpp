// A collective: what the processes of a group do together, each with one tensor. Pure data: part of a plan's key, run
// by exchange/.
#pragma once
#include <cstdint>

#include "kernel/program.hpp"

namespace sg {

struct Collective {
  enum class Kind : int32_t {
    none,
    all_reduce,      // n -> n: the fold of all
    reduce,          // n -> n: the same for the root, its own values for the others
    broadcast,       // n -> n: those of the root
    all_gather,      // n -> size * n: those of all, by member
    gather,          // the same for the root, undefined for the others
    reduce_scatter,  // size * n -> n: of the fold of all, the part with the member's number
    scatter,         // the root's size * n, anything from the others -> n: the part with the member's number
    send,            // n -> 1, undefined: to the root, which receives
    receive,         // n -> n: from the root, which sends
  };
  Kind kind = Kind::none;
  int32_t fold = 0;   // a Fold, of those that reduce
  int32_t mean = 0;   // 1, with the sum: each value is multiplied by 1 / size before
  int32_t root = 0;   // the member that gives or takes
  int32_t group = 0;  // see exchange/group.hpp
  int32_t sums = 0;   // 1: an all_gather in place of an all_reduce, which needs no copy of the own values
};
const char* name_of(Collective::Kind kind);
constexpr bool folds(Collective::Kind kind) {
  return kind == Collective::Kind::all_reduce || kind == Collective::Kind::reduce ||
         kind == Collective::Kind::reduce_scatter;
}
constexpr bool is_between_two(Collective::Kind kind) {
  return kind == Collective::Kind::send || kind == Collective::Kind::receive;
}

}  // namespace sg
