// What an operation is: a row of plain data with function pointers. The table of all rows is ops/list.hpp;
// bindings, fusion, docs and tests are loops over it.
#pragma once
#include <cstdint>
#include <vector>

#include "kernel/program.hpp"

namespace sg {

struct Node;
class Tensor;
struct Vjp;
struct Expansion;

enum class Kind : uint8_t {
  pointwise,    // `emit` gives the value of one element
  reduce,       // folds some dimensions with `fold`
  contraction,  // sum over k of a * b
  indexed,      // the element of input 0 whose offset input 1 computes
  kernel,       // launches of its own: `expand` lists them
  view,         // other strides on the same storage: no node, only a gradient
  effect,       // writes input 0 through a view of an existing storage, input 1, or at the offsets of input 2
  memory,       // memory of undefined contents: nothing is computed
};

// Result type from the (promoted) type of the inputs.
enum class Result : uint8_t {
  same,
  floating,  // integers and booleans become float32
  boolean,   // comparisons: computed in the promoted type, result boolean
  number,    // booleans become int64
};

// Which values the gradient reads; only these are kept alive by the graph.
enum Saves : uint8_t {
  kSavesNothing = 0,
  kSavesA = 1,
  kSavesB = 2,
  kSavesC = 4,
  kSavesOutput = 8,
  kSavesRest = 16,   // the inputs behind those
  kReadsOnly = 128,  // in OpInfo::reads: these and no others
};

// The types that an op takes; TypeError for others.
enum Takes : uint8_t { kTakesBool = 1, kTakesIntegers = 2, kTakesFloats = 4, kTakesAll = 7 };

// Rows are constants that live as long as the process: their addresses stand for them in keys, and may be compared.
struct OpInfo {
  const char* name;
  const char* doc;
  Kind kind;
  int arity;
  Result result = Result::same;
  uint8_t saves = kSavesNothing;
  Fold fold = Fold::sum;
  Expr (*emit)(ProgramBuilder&, const Node&, const Expr* inputs) = nullptr;
  void (*vjp)(Vjp&) = nullptr;  // nullptr: no gradient
  void (*expand)(const Node&, bool gpu, Expansion&) = nullptr;
  // Of an effect that stands for many ops (see update_all in update.hpp): records those, and returns what is written to
  // input 1 and to the memory behind each input after input 2.
  std::vector<Tensor> (*update)(const Node&) = nullptr;
  bool follows = false;       // belongs to the nodes before it: no run begins with it
  bool reports = false;       // checks an index: against input 1, or in a kernel of its own (see CustomKernel::tag)
  bool repeats = false;       // a kernel, or an effect at offsets: equal inputs give equal results, in every run
  bool stores = false;        // its value is written to memory: readers never compute it again
  uint8_t takes = kTakesAll;  // of the promoted type
  bool wide = false;          // under autocast, half types come in as float32
  bool hands_on = false;      // its gradient is the one that arrives, seen otherwise or in another type
  // What its report means, and what to do; nullptr: an index is out of range, or a parameter of random numbers.
  const char *fault = nullptr, *remedy = nullptr;
  // Which of `saves` the gradient by each input reads; the others are not kept if only that gradient is wanted. 0: all.
  uint8_t reads[3] = {};
  uint8_t read_by(int input) const { return input < 3 && reads[input] ? reads[input] : saves; }
};

}  // namespace sg
