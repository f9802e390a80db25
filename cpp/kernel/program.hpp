// A fused kernel as data: what is loaded, computed, reduced and stored over one domain.
//
// The domain is a box of `domain` sizes. The last `inner` dimensions belong to the row: a reduce folds them to one
// value a row. With inner == 0 the program is pointwise and every instruction runs once an element.
// Instructions are in static single assignment: operand a, b, c are the numbers of earlier instructions.
//
// A row is computed in phases. Instructions that need no reduce are phase 0; what needs a reduce of phase p is phase p
// + 1. A softmax row is three phases (maximum; sum of exponentials; quotient) and still one kernel. Values of narrow
// types (float16, int8 ...) are loaded, stored and converted to and from the type they are computed in, nothing else.
// Pure data: no I/O, no threads, no device. Both back ends run it; tests print it.
#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/dtype.hpp"
#include "base/shape.hpp"

namespace sg {

enum class Code : uint8_t {
  load,      // slot = operand
  store,     // slot = operand, a = value
  sum_rows,  // slot = operand [parts, columns], a = value: added up over the rows of a part
  number,    // slot = number argument: a value that may differ from run to run
  constant,  // imm: part of the formula
  index,     // slot = operand (a view without memory): the int64 value offset + sum(coordinate * stride)
  reduce,    // a = value, fold = how; always once a row
  load_at,   // slot = operand without strides, a = int64 offset of the element
  store_at,  // slot = operand without strides, a = value, b = int64 offset; a negative one stores nothing
#define ALU(name, ...) name,
#define ALU_OWN(name, ...) name,
#include "math/alu.def"
};
inline bool is_store(Code c) { return c == Code::store || c == Code::sum_rows || c == Code::store_at; }
inline bool is_load(Code c) { return c == Code::load || c == Code::load_at; }
int arity_of(Code c);  // number of value operands (store and reduce: 1)
const char* name_of(Code c);
const char* infix_of(Code c);  // "" when there is none
int cost_of(Code c);           // on the CPU, in additions

// The element types of a machine function that has one formula for all of them: see math/alu.def.
enum class AluKind : uint8_t { number, floating, rounding, integer, comparison };

enum class Fold : uint8_t { sum, maximum, minimum, product };  // empty rows: 0, -inf (lowest), +inf (highest), 1
const char* name_of(Fold f);

struct Instr {
  Code code = Code::constant;
  DType dtype = DType::float32;  // of the result (store: of the value)
  Fold fold = Fold::sum;
  bool per_row = false;  // runs once a row, not once an element; never set when inner == 0
  uint8_t phase = 0;
  int32_t a = -1, b = -1, c = -1;
  int32_t slot = -1;
  // constant: .f for float types, .i for the others; check_index: .i is its number in the kernel, from 1 on; stores: .i is
  // the number of the guard that may keep it from being done, from 1 on, or 0; reduces: .i is their order (fold_order.hpp)
  Number imm{};
  bool operator==(const Instr&) const;
};

// A view over the domain: element address = offset + sum(coordinate[d] * strides[d]), in elements.
struct View {
  int32_t binding = -1;  // which of the step's bindings; -1: no memory (Code::index)
  DType dtype = DType::float32;
  Dims strides;         // one a domain dimension
  int64_t offset = 0;   // static part; a binding adds its own at run time
  bool aligned = true;  // the run-time part of the address is a multiple of 16 bytes
  int64_t reach = 0;    // load_at and store_at: how many elements there are
};

struct Program {
  Dims domain;
  int inner = 0;
  std::vector<View> views;
  std::vector<Instr> code;
  int numbers = 0;        // how many number arguments
  bool in_place = false;  // may store over what it loads, each element over itself
  // A long reduce is cut into pieces: the last outer dimension counts pieces, and piece s covers
  // min(size, limit - s * size) elements of the first inner dimension, whose extent is `size`. 0: off.
  int64_t piece_limit = 0;
  // Sums over rows (sum_rows): part s adds up rows [s * part_rows, (s + 1) * part_rows), in order. 0: none.
  int64_t part_rows = 0;

  int outer() const { return domain.rank - inner; }
  int64_t rows() const;     // product of the outer sizes
  int64_t columns() const;  // product of the inner sizes (1 when inner == 0)
  int64_t parts() const { return part_rows ? (rows() + part_rows - 1) / part_rows : 0; }
  int checks() const;  // the largest number of a check
  int guards() const;
  int phases() const;
  std::string print() const;
  // Everything on which generated source depends: all but sizes, values of strides and numbers.
  uint64_t structure_hash() const;
};

// Fills per_row and phase of every instruction. Call once after building.
void annotate(Program& p);
// Removes instructions that no store needs.
void prune(Program& p);
// Merges neighbouring dimensions (outer with outer, inner with inner) wherever all views allow it, drops size 1.
void collapse(Program& p);

// Builds Programs. Equal instructions are made once.
class ProgramBuilder;
struct Expr {
  ProgramBuilder* builder = nullptr;
  int32_t id = -1;
  DType dtype = DType::float32;
};
class ProgramBuilder {
 public:
  Program program;
  Expr load(int32_t view);
  void store(int32_t view, Expr value);
  void sum_rows(int32_t view, Expr value);
  Expr load_at(int32_t view, Expr offset);
  void store_at(int32_t view, Expr value, Expr offset);
  Expr number(DType t);                  // a new number argument
  Expr constant(DType t, double value);  // of a type that is computed in
  Expr constant_int(DType t, int64_t value);
  Expr index(int32_t view);
  Expr reduce(Fold fold, Expr value);
  Expr alu(Code code, DType result, Expr a, Expr b = {}, Expr c = {});
  Expr cast(Expr a, DType t);
  int32_t add_view(const View& v);  // equal views are added once

 private:
  Expr emit(Instr i);
  static constexpr size_t kChains = 32;
  std::array<int32_t, kChains> latest_ = none();  // the latest instruction of each chain, chosen by a hash; -1: none
  std::vector<int32_t> before_;                   // of each instruction: the previous one in its chain
  static constexpr std::array<int32_t, kChains> none() {
    std::array<int32_t, kChains> chains{};
    chains.fill(-1);
    return chains;
  }
};

}  // namespace sg
